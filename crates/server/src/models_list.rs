//! `longshored models list`: what each model of the catalogue can do.

use std::fmt::Write as _;

use domain::features::{
    Features, PromptCaching, SamplingSupport, StructuredOutput, ThinkingSupport, ToolSupport,
};
use domain::model::{Catalogue, Model, ModelKind};
use domain::route::InferenceMode;
use serde::Serialize;

use crate::catalogue::CatalogueStore;
use crate::models_check::ModelsFailure;
use crate::providers::ProviderAccounts;
use crate::providers::credential::CredentialAccess;
use crate::settings::Settings;

/// With so many stop sequences, the provider takes every request.
const ALL_STOP_SEQUENCES: u32 = 16;

/// The models by kind, with their features in words.
#[derive(Debug, Serialize)]
pub struct ModelList {
    chat: Vec<ListedChat>,
    embedding: Vec<ListedEmbedding>,
}

#[derive(Debug, Serialize)]
struct ListedChat {
    id: String,
    ways: String,
    reads: String,
    tools: &'static str,
    tool_results: &'static str,
    schemas: &'static str,
    thinking: String,
    efforts: String,
    caching: &'static str,
    sampling: &'static str,
    stop_sequences: String,
    seed: &'static str,
}

#[derive(Debug, Serialize)]
struct ListedEmbedding {
    id: String,
    ways: String,
    texts: String,
    dimensions: String,
    input_type: &'static str,
}

/// Reads the catalogue that the settings name. No provider is asked.
pub fn read(settings: &Settings) -> Result<ModelList, ModelsFailure> {
    let accounts = ProviderAccounts::from_settings(settings, CredentialAccess::Skip)?;
    let store = CatalogueStore::open(settings.values.models_file.clone(), accounts)?;
    let catalogue = store.watch().borrow().clone();
    Ok(list(&catalogue))
}

fn list(catalogue: &Catalogue) -> ModelList {
    let of = |kind: ModelKind| catalogue.models().filter(move |model| model.kind == kind);
    ModelList {
        chat: of(ModelKind::Chat).map(ListedChat::of).collect(),
        embedding: of(ModelKind::Embedding).map(ListedEmbedding::of).collect(),
    }
}

impl ListedChat {
    fn of(model: &Model) -> Self {
        let features = &model.features;
        let reads = model.capabilities.iter();
        let reads = std::iter::once("text").chain(reads.map(|capability| capability.as_str()));
        let efforts = features.thinking.efforts.iter();
        Self {
            id: model.id.clone(),
            ways: ways(model),
            reads: join(reads),
            tools: tools(features),
            tool_results: match (features.tools, features.tool_result_files) {
                (ToolSupport::None, _) => "–",
                (ToolSupport::AlwaysParallel | ToolSupport::Parallel, true) => "text and files",
                (ToolSupport::AlwaysParallel | ToolSupport::Parallel, false) => "text",
            },
            schemas: match features.structured_output {
                StructuredOutput::None => "no",
                StructuredOutput::WithoutTools => "without tools",
                StructuredOutput::WithTools => "yes",
            },
            thinking: thinking(&features.thinking),
            efforts: or_dash(join(efforts.map(|effort| effort.as_str()))),
            caching: match features.caching {
                PromptCaching::Automatic => "automatic",
                PromptCaching::Marks => "marks",
            },
            sampling: match features.sampling {
                SamplingSupport::Pass => "yes",
                SamplingSupport::Drop => "ignored",
                SamplingSupport::Refuse => "refused",
            },
            stop_sequences: match features.max_stop_sequences {
                0 => "by Longshore".to_owned(),
                ALL_STOP_SEQUENCES.. => "yes".to_owned(),
                most => format!("{most}, then by Longshore"),
            },
            seed: yes_or_no(features.seed),
        }
    }

    fn cells(&self) -> [&str; 12] {
        [
            &self.id,
            &self.ways,
            &self.reads,
            self.tools,
            self.tool_results,
            self.schemas,
            &self.thinking,
            &self.efforts,
            self.caching,
            self.sampling,
            &self.stop_sequences,
            self.seed,
        ]
    }
}

impl ListedEmbedding {
    fn of(model: &Model) -> Self {
        let features = &model.features.embedding;
        Self {
            id: model.id.clone(),
            ways: ways(model),
            texts: match features.max_inputs {
                u32::MAX => "any number".to_owned(),
                most => most.to_string(),
            },
            dimensions: match features.dimensions {
                Some((least, most)) => format!("{least} to {most}"),
                None => "fixed".to_owned(),
            },
            input_type: yes_or_no(features.input_type),
        }
    }

    fn cells(&self) -> [&str; 5] {
        [
            &self.id,
            &self.ways,
            &self.texts,
            &self.dimensions,
            self.input_type,
        ]
    }
}

fn ways(model: &Model) -> String {
    let has = |via: &InferenceMode| model.routes.iter().any(|route| route.via == *via);
    join(
        InferenceMode::ALL
            .into_iter()
            .filter(has)
            .map(InferenceMode::as_str),
    )
}

const fn tools(features: &Features) -> &'static str {
    match (features.tools, features.forced_tools) {
        (ToolSupport::None, _) => "no",
        (ToolSupport::AlwaysParallel | ToolSupport::Parallel, false) => "never forced",
        (ToolSupport::AlwaysParallel, true) => "always parallel",
        (ToolSupport::Parallel, true) => "yes",
    }
}

fn thinking(support: &ThinkingSupport) -> String {
    let budget = support.budget.map(|_| "enabled");
    let types = [
        support.adaptive.then_some("adaptive"),
        budget,
        support.disabled.then_some("disabled"),
        support.summaries.then_some("summarized"),
    ];
    match join(types.into_iter().flatten()) {
        none if none.is_empty() => "no".to_owned(),
        types => types,
    }
}

fn join<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

fn or_dash(text: String) -> String {
    if text.is_empty() {
        "–".to_owned()
    } else {
        text
    }
}

const fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

/// A table of the chat models, and one of the embedding models.
pub fn render_markdown(models: &ModelList) -> String {
    let mut page = String::new();
    let chat = [
        "Model",
        "Ways",
        "Reads",
        "Tools",
        "Tool results",
        "Schemas",
        "Thinking",
        "Effort",
        "Caching",
        "Sampling",
        "Stop sequences",
        "Seed",
    ];
    write_table(&mut page, chat, models.chat.iter().map(ListedChat::cells));
    if !models.embedding.is_empty() {
        let headings = [
            "Embedding model",
            "Ways",
            "Texts",
            "Dimensions",
            "Input type",
        ];
        page.push('\n');
        let rows = models.embedding.iter().map(ListedEmbedding::cells);
        write_table(&mut page, headings, rows);
    }
    page.trim_end().to_owned()
}

fn write_table<'a, const COLUMNS: usize>(
    page: &mut String,
    headings: [&str; COLUMNS],
    rows: impl Iterator<Item = [&'a str; COLUMNS]>,
) {
    // Writing to a string cannot fail.
    let _written = writeln!(page, "| {} |", headings.join(" | "));
    let _written = writeln!(page, "|{}", "---|".repeat(COLUMNS));
    for row in rows {
        if let [id, rest @ ..] = row.as_slice() {
            let _written = writeln!(page, "| `{id}` | {} |", rest.join(" | "));
        }
    }
}

#[cfg(test)]
mod tests;
