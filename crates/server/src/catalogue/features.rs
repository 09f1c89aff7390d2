//! `[model.features]` and the `features` of a route: what a model can do.

use domain::features::{
    Features, PromptCaching, SamplingSupport, StructuredOutput, ThinkingSupport, ToolSupport,
};
use domain::params::thinking::Effort;
use serde::Deserialize;

use crate::entry_errors::EntryErrors;

const MAX_COUNT: i64 = 1_000_000_000;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FeaturesEntry {
    tools: Option<String>,
    forced_tools: Option<bool>,
    tool_result_files: Option<bool>,
    strict_tools: Option<bool>,
    max_tools: Option<i64>,
    structured_output: Option<String>,
    thinking: Option<ThinkingEntry>,
    caching: Option<String>,
    sampling: Option<String>,
    top_k: Option<bool>,
    max_stop_sequences: Option<i64>,
    system_messages: Option<bool>,
    prefill: Option<bool>,
    seed: Option<bool>,
    min_output: Option<i64>,
    embedding: Option<EmbeddingEntry>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThinkingEntry {
    #[serde(default)]
    types: Vec<String>,
    budget: Option<(i64, i64)>,
    #[serde(default)]
    summaries: bool,
    #[serde(default)]
    efforts: Vec<String>,
    default_effort: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct EmbeddingEntry {
    max_inputs: Option<i64>,
    dimensions: Option<(i64, i64)>,
    input_type: Option<bool>,
}

/// The words of the file for the values of a feature.
const TOOLS: [(&str, ToolSupport); 3] = [
    ("none", ToolSupport::None),
    ("always_parallel", ToolSupport::AlwaysParallel),
    ("parallel", ToolSupport::Parallel),
];
const STRUCTURED_OUTPUT: [(&str, StructuredOutput); 3] = [
    ("none", StructuredOutput::None),
    ("without_tools", StructuredOutput::WithoutTools),
    ("with_tools", StructuredOutput::WithTools),
];
const CACHING: [(&str, PromptCaching); 2] = [
    ("automatic", PromptCaching::Automatic),
    ("marks", PromptCaching::Marks),
];
const SAMPLING: [(&str, SamplingSupport); 3] = [
    ("pass", SamplingSupport::Pass),
    ("drop", SamplingSupport::Drop),
    ("refuse", SamplingSupport::Refuse),
];

impl FeaturesEntry {
    /// The features with what the entry says.
    pub(super) fn apply(&self, to: Features, errors: &mut EntryErrors<'_>) -> Features {
        let tools = choice("tools", self.tools.as_deref(), &TOOLS, errors);
        let output = self.structured_output.as_deref();
        let structured_output = choice("structured_output", output, &STRUCTURED_OUTPUT, errors);
        let caching = choice("caching", self.caching.as_deref(), &CACHING, errors);
        let sampling = choice("sampling", self.sampling.as_deref(), &SAMPLING, errors);
        let thinking = self.thinking.as_ref();
        let thinking = thinking.map(|entry| entry.validate(errors));
        let max_tools = count("max_tools", self.max_tools, errors);
        let stops = count("max_stop_sequences", self.max_stop_sequences, errors);
        let min_output = count("min_output", self.min_output, errors);
        let mut embedding = to.embedding;
        if let Some(entry) = &self.embedding {
            let inputs = count("embedding.max_inputs", entry.max_inputs, errors);
            embedding.max_inputs = inputs.unwrap_or(embedding.max_inputs);
            let dimensions = range("embedding.dimensions", entry.dimensions, errors);
            embedding.dimensions = dimensions.or(embedding.dimensions);
            embedding.input_type = entry.input_type.unwrap_or(embedding.input_type);
        }
        Features {
            tools: tools.unwrap_or(to.tools),
            forced_tools: self.forced_tools.unwrap_or(to.forced_tools),
            tool_result_files: self.tool_result_files.unwrap_or(to.tool_result_files),
            strict_tools: self.strict_tools.unwrap_or(to.strict_tools),
            max_tools: max_tools.unwrap_or(to.max_tools),
            structured_output: structured_output.unwrap_or(to.structured_output),
            schema_dialects: to.schema_dialects,
            thinking: thinking.unwrap_or(to.thinking),
            caching: caching.unwrap_or(to.caching),
            sampling: sampling.unwrap_or(to.sampling),
            top_k: self.top_k.unwrap_or(to.top_k),
            max_stop_sequences: stops.unwrap_or(to.max_stop_sequences),
            system_messages: self.system_messages.unwrap_or(to.system_messages),
            prefill: self.prefill.unwrap_or(to.prefill),
            seed: self.seed.unwrap_or(to.seed),
            min_output: min_output.unwrap_or(to.min_output),
            embedding,
        }
    }
}

impl ThinkingEntry {
    fn validate(&self, errors: &mut EntryErrors<'_>) -> ThinkingSupport {
        let mut support = ThinkingSupport::none();
        let mut is_enabled = false;
        for word in &self.types {
            match word.as_str() {
                "adaptive" => support.adaptive = true,
                "enabled" => is_enabled = true,
                "disabled" => support.disabled = true,
                _ => errors.add(&format!(
                    "features.thinking.types has `{word}`, which is none of adaptive, enabled, \
                     disabled"
                )),
            }
        }
        support.budget = range("thinking.budget", self.budget, errors);
        if is_enabled != self.budget.is_some() {
            errors.add(
                "features.thinking.budget and the type enabled belong together: give both or none",
            );
        }
        support.summaries = self.summaries;
        for word in &self.efforts {
            support.efforts.extend(effort(word, errors));
        }
        let default = self.default_effort.as_deref();
        support.default_effort = default.and_then(|word| effort(word, errors));
        if let Some(default) = support.default_effort
            && !support.efforts.contains(&default)
        {
            let default = default.as_str();
            errors.add(&format!(
                "features.thinking.default_effort `{default}` is not in features.thinking.efforts"
            ));
        }
        support
    }
}

fn effort(word: &str, errors: &mut EntryErrors<'_>) -> Option<Effort> {
    let effort = Effort::parse(word);
    if effort.is_none() {
        let all = Effort::ALL.map(Effort::as_str).join(", ");
        errors.add(&format!("effort `{word}` is none of {all}"));
    }
    effort
}

fn choice<T: Copy>(
    field: &str,
    word: Option<&str>,
    words: &[(&str, T)],
    errors: &mut EntryErrors<'_>,
) -> Option<T> {
    let word = word?;
    let found = words.iter().find(|(known, _)| *known == word);
    if found.is_none() {
        let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
        let known = known.join(", ");
        errors.add(&format!("features.{field} `{word}` is none of {known}"));
    }
    found.map(|(_, value)| *value)
}

fn count(field: &str, number: Option<i64>, errors: &mut EntryErrors<'_>) -> Option<u32> {
    let field = format!("features.{field}");
    let number = errors.whole_number(&field, number, 0..=MAX_COUNT)?;
    u32::try_from(number).ok()
}

fn range(
    field: &str,
    bounds: Option<(i64, i64)>,
    errors: &mut EntryErrors<'_>,
) -> Option<(u32, u32)> {
    let (min, max) = bounds?;
    let (min, max) = (
        count(field, Some(min), errors)?,
        count(field, Some(max), errors)?,
    );
    if min > max {
        errors.add(&format!(
            "features.{field} must have the smaller number first"
        ));
        return None;
    }
    Some((min, max))
}

#[cfg(test)]
mod tests;
