//! `temperature`, `top_p` and `top_k`. The contract has them for every model, so they are left out
//! where a model refuses them.

use crate::feature_check::Findings;
use crate::features::{Features, SamplingSupport, SchemaDialect};
use crate::field_refusal::FieldPath;
use crate::load_warning::WarningCode;
use crate::params::ChatParams;
use crate::params::thinking::Thinking;

/// Anthropic takes `top_p` beside thinking only from here on.
const MIN_TOP_P_WITH_THINKING: f64 = 0.95;

pub(super) fn check(chat: &ChatParams, features: &Features, findings: &mut Findings) {
    for field in given_fields(chat) {
        match features.sampling {
            SamplingSupport::Pass => {
                if let Some(reason) = reason_to_ignore(field, chat, features) {
                    let message = format!("{field} has no effect: {reason}.");
                    findings.warn(field, WarningCode::IgnoredByModel, message);
                }
            }
            SamplingSupport::Drop => {
                let message = format!("{field} has no effect: the model does not take it.");
                findings.warn(field, WarningCode::IgnoredByModel, message);
            }
            SamplingSupport::Refuse => {
                let message = format!(
                    "The model does not take {field}. Leave it out, or choose another model."
                );
                let place = FieldPath::PARAMS.key(field);
                findings.refusals.add_missing("sampling", place, message);
            }
        }
    }
}

fn given_fields(chat: &ChatParams) -> impl Iterator<Item = &'static str> {
    let fields = [
        chat.temperature.map(|_| "temperature"),
        chat.top_p.map(|_| "top_p"),
        chat.top_k.map(|_| "top_k"),
    ];
    fields.into_iter().flatten()
}

/// Why the encoder leaves a field out although the model takes sampling in general.
fn reason_to_ignore(field: &str, chat: &ChatParams, features: &Features) -> Option<&'static str> {
    if field == "top_k" && !features.top_k {
        return Some("the model does not take it");
    }
    // The dialect tells that a route is Anthropic's, which takes these fields only one by one.
    if !features.schema_dialects.contains(&SchemaDialect::Anthropic) {
        return None;
    }
    let is_thinking = matches!(
        chat.thinking,
        Some(Thinking::Adaptive { .. } | Thinking::Enabled { .. })
    );
    let is_kept = field == "top_p" && chat.top_p.is_some_and(|it| it >= MIN_TOP_P_WITH_THINKING);
    if is_thinking && !is_kept {
        return Some("the model does not take it while it thinks");
    }
    let is_second = field == "top_p" && chat.temperature.is_some() && !is_thinking;
    is_second.then_some("the model does not take it together with temperature")
}
