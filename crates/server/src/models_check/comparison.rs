//! Compares a route of the catalogue with what its provider tells.

use domain::features::{StructuredOutput, ThinkingSupport, ToolSupport};
use domain::model::{Capability, Model, ModelKind};
use domain::params::thinking::Effort;
use domain::route::{InferenceMode, Route};
use outbound::provider::model_info::{ModelInfo, ThinkingInfo};
use outbound::provider::realtime::ProbedFeatures;
use serde::Serialize;

use crate::models_check::upstream::UpstreamFacts;
use crate::server_probe::{SCHEMAS_FIX, TOOLS_FIX};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ModelFindingKind {
    /// Requests that the catalogue accepts will fail.
    Contradiction,
    /// The catalogue says less than the provider.
    Note,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ModelFinding {
    pub(super) kind: ModelFindingKind,
    /// The field of the catalogue.
    pub(super) field: &'static str,
    pub(super) message: String,
}

pub(super) fn compare(model: &Model, route: &Route, facts: &UpstreamFacts) -> Vec<ModelFinding> {
    let mut findings = ModelFindings(Vec::new());
    if facts.exists == Some(false) {
        findings.contradiction("upstream", "the provider has no model of this name");
        return findings.0;
    }
    findings.compare_limits(model, &facts.info);
    findings.compare_capabilities(model, route, &facts.info);
    findings.compare_thinking(&route.features.thinking, &facts.info.thinking);
    findings.compare_retirement(model, &facts.info);
    if let Some(probed) = facts.probed {
        findings.compare_probe(route, probed);
    }
    findings.0
}

struct ModelFindings(Vec<ModelFinding>);

impl ModelFindings {
    fn contradiction(&mut self, field: &'static str, message: impl Into<String>) {
        self.add(ModelFindingKind::Contradiction, field, message.into());
    }

    fn note(&mut self, field: &'static str, message: impl Into<String>) {
        self.add(ModelFindingKind::Note, field, message.into());
    }

    fn add(&mut self, kind: ModelFindingKind, field: &'static str, message: String) {
        self.0.push(ModelFinding {
            kind,
            field,
            message,
        });
    }

    /// The catalogue promises what the provider denies.
    fn deny(&mut self, field: &'static str, is_promised: bool, told: Option<bool>) {
        if is_promised && told == Some(false) {
            self.contradiction(field, "the provider says that the model cannot do this");
        }
    }

    fn compare_limits(&mut self, model: &Model, info: &ModelInfo) {
        if let (Some(context), Some(max)) = (model.context, info.max_input)
            && context > max
        {
            let message = format!("{context}, but the provider takes {max} tokens of input");
            self.contradiction("context", message);
        }
        match (model.max_output, info.max_output) {
            _ if model.kind == ModelKind::Embedding => {}
            (Some(most), Some(max)) if u64::from(most) > max => {
                let message = format!("{most}, but the provider writes at most {max} tokens");
                self.contradiction("limits.max_output", message);
            }
            (None, Some(max)) => {
                let message =
                    format!("not set; requests for more than {max} tokens fail at the provider");
                self.note("limits.max_output", message);
            }
            (Some(_) | None, _) => {}
        }
    }

    fn compare_capabilities(&mut self, model: &Model, route: &Route, info: &ModelInfo) {
        let reads = |capability| model.capabilities.contains(&capability);
        self.deny("via", route.via == InferenceMode::Batch, info.batch);
        self.deny(
            "capabilities.vision",
            reads(Capability::Vision),
            info.images,
        );
        let documents = reads(Capability::Documents);
        self.deny("capabilities.documents", documents, info.documents);
        let has_schemas = route.features.structured_output != StructuredOutput::None;
        let field = "features.structured_output";
        self.deny(field, has_schemas, info.structured_output);
    }

    fn compare_thinking(&mut self, says: &ThinkingSupport, told: &ThinkingInfo) {
        self.deny(
            "features.thinking.types.adaptive",
            says.adaptive,
            told.adaptive,
        );
        let has_budget = says.budget.is_some();
        self.deny("features.thinking.types.enabled", has_budget, told.enabled);
        self.deny(
            "features.thinking.types.disabled",
            says.disabled,
            told.disabled,
        );
        let Some(efforts) = &told.efforts else {
            return;
        };
        let denied = join_names(says.efforts.iter().filter(|it| !efforts.contains(it)));
        if !denied.is_empty() {
            let message = format!("the provider does not take {denied}");
            self.contradiction("features.thinking.efforts", message);
        }
        let unused = join_names(efforts.iter().filter(|it| !says.efforts.contains(it)));
        if !unused.is_empty() {
            let message = format!("the provider also takes {unused}");
            self.note("features.thinking.efforts", message);
        }
    }

    fn compare_retirement(&mut self, model: &Model, info: &ModelInfo) {
        match (model.retires_at, info.retires_at) {
            (Some(says), Some(told)) if says > told => {
                let message = format!("{says}, but the provider stops serving it on {told}");
                self.contradiction("retires_at", message);
            }
            (None, Some(told)) => {
                let message = format!("not set; the provider stops serving it on {told}");
                self.note("retires_at", message);
            }
            (Some(_) | None, _) => {}
        }
    }

    fn compare_probe(&mut self, route: &Route, probed: ProbedFeatures) {
        let has_tools = route.features.tools != ToolSupport::None;
        match (has_tools, probed.tools) {
            (true, false) => {
                let message = format!("the server did not call a forced tool: {TOOLS_FIX}");
                self.contradiction("features.tools", message);
            }
            (false, true) => {
                self.note(
                    "features.tools",
                    "none, but the server called a forced tool",
                );
            }
            (true, true) | (false, false) => {}
        }
        let has_schemas = route.features.structured_output != StructuredOutput::None;
        let field = "features.structured_output";
        match (has_schemas, probed.schemas) {
            (true, false) => {
                let message = format!("the answer did not follow its schema: {SCHEMAS_FIX}");
                self.contradiction(field, message);
            }
            (false, true) => self.note(field, "none, but the server followed a schema"),
            (true, true) | (false, false) => {}
        }
    }
}

fn join_names<'a>(efforts: impl Iterator<Item = &'a Effort>) -> String {
    let names: Vec<&str> = efforts.map(|effort| effort.as_str()).collect();
    names.join(", ")
}
