//! Checks what a load asks of its model: rules of the conversation, features of the model, and
//! options that the operator allows.

use domain::conversation_rules;
use domain::feature_check::{self, FieldRefusal, LocationPart};
use domain::load_warning::LoadWarning;
use domain::model::Model;
use domain::params::Params;
use domain::provider_options;
use serde_json::{Value, json};
use wire::error_body::{LocationStep, ValidationError};

use crate::api_error::{ApiError, ErrorCode};
use crate::validation_errors::MAX_REPORTED_WARNINGS;

/// More errors do not help the caller.
const MAX_REPORTED_REFUSALS: usize = 100;

/// The rules that need no model.
pub(crate) fn check_conversation(params: &Params) -> Result<(), ApiError> {
    match params {
        Params::Chat(chat) => refuse(conversation_rules::check(chat)),
        Params::Embedding(_) => Ok(()),
    }
}

/// Refuses what the model cannot do. Returns the warnings of the load: first those of the model,
/// then `unknown_fields`.
pub(crate) fn check_features(
    params: &Params,
    model: &Model,
    unknown_fields: Vec<LoadWarning>,
) -> Result<Vec<LoadWarning>, ApiError> {
    let report = feature_check::check(params, model);
    let mut refusals = report.refusals;
    if let Params::Chat(chat) = params {
        let allowed = &model.allowed_options;
        refusals.extend(provider_options::check(&chat.provider_options, allowed));
    }
    refuse(refusals)?;
    let mut warnings = report.warnings;
    warnings.extend(unknown_fields);
    warnings.truncate(MAX_REPORTED_WARNINGS);
    Ok(warnings)
}

/// Faults of the request come first: they are faults for every model.
fn refuse(mut refusals: Vec<FieldRefusal>) -> Result<(), ApiError> {
    refusals.truncate(MAX_REPORTED_REFUSALS);
    let (missing, faults): (Vec<FieldRefusal>, Vec<FieldRefusal>) = refusals
        .into_iter()
        .partition(|refusal| refusal.capability.is_some());
    if !faults.is_empty() {
        let faults = faults.into_iter().map(into_validation_error);
        return Err(ApiError::validation(faults.collect()));
    }
    match capability_missing(&missing) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn into_validation_error(refusal: FieldRefusal) -> ValidationError {
    ValidationError {
        kind: "value_error",
        loc: body_location(&refusal.location),
        msg: refusal.message.into(),
    }
}

/// The error names the first feature that the model does not have. If there are more, `errors`
/// lists all.
fn capability_missing(missing: &[FieldRefusal]) -> Option<ApiError> {
    let first = missing.first()?;
    let error = ApiError::with_code(ErrorCode::ModelCapabilityMissing, first.message.clone());
    let error = error
        .with_field("capability", first.capability)
        .with_field("loc", json_location(first));
    if missing.len() == 1 {
        return Some(error);
    }
    let all = missing.iter().map(|refusal| {
        json!({
            "capability": refusal.capability,
            "loc": json_location(refusal),
            "message": refusal.message,
        })
    });
    Some(error.with_field("errors", all.collect::<Vec<Value>>()))
}

fn json_location(refusal: &FieldRefusal) -> Value {
    serde_json::to_value(body_location(&refusal.location)).unwrap_or_default()
}

fn body_location(location: &[LocationPart]) -> Vec<LocationStep> {
    let steps = location.iter().map(|part| match part {
        LocationPart::Key(key) => LocationStep::name(key.clone()),
        LocationPart::Index(index) => LocationStep::Index(*index),
    });
    std::iter::once(LocationStep::key("body"))
        .chain(steps)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(field: &str, capability: Option<&'static str>) -> FieldRefusal {
        let key = |name: &str| LocationPart::Key(name.to_owned());
        FieldRefusal {
            location: vec![key("params"), key(field), LocationPart::Index(1)],
            message: format!("{field} is wrong"),
            capability,
        }
    }

    fn refused(refusals: Vec<FieldRefusal>) -> String {
        let error = refuse(refusals).unwrap_err();
        assert_eq!(error.status(), http::StatusCode::UNPROCESSABLE_ENTITY);
        serde_json::to_string(&error.into_body()).unwrap()
    }

    #[test]
    fn a_missing_feature_has_a_code_and_a_location() {
        assert!(refuse(Vec::new()).is_ok());
        insta::assert_snapshot!(refused(vec![refusal("tools", Some("tools"))]), @r#"{"detail":{"error":"model_capability_missing","message":"tools is wrong","capability":"tools","loc":["body","params","tools",1]}}"#);
        let both = vec![
            refusal("tools", Some("tools")),
            refusal("seed", Some("seed")),
        ];
        insta::assert_snapshot!(refused(both), @r#"{"detail":{"error":"model_capability_missing","message":"tools is wrong","capability":"tools","loc":["body","params","tools",1],"errors":[{"capability":"tools","loc":["body","params","tools",1],"message":"tools is wrong"},{"capability":"seed","loc":["body","params","seed",1],"message":"seed is wrong"}]}}"#);
    }

    #[test]
    fn faults_of_the_request_come_before_missing_features() {
        let both = vec![refusal("seed", Some("seed")), refusal("messages", None)];
        insta::assert_snapshot!(refused(both), @r#"{"detail":[{"type":"value_error","loc":["body","params","messages",1],"msg":"messages is wrong"}]}"#);
    }
}
