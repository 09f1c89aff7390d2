//! The body of every error: `{"detail": …}`.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Why the request was refused.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Refusal)]
pub struct ErrorBody {
    pub detail: ErrorDetail,
}

/// A text, an error with a code for programs, or a list of validation errors.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Detail)]
pub enum ErrorDetail {
    #[schema(value_type = String)]
    Text(Cow<'static, str>),
    Coded(CodedError),
    ValidationErrors(Vec<ValidationError>),
}

/// `error` is for programs, `message` for people; further fields depend on the error.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = CodedDetail)]
pub struct CodedError {
    #[schema(value_type = String, example = "invalid_model")]
    pub error: &'static str,
    pub message: String,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// One thing wrong with the request, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Fault)]
pub struct ValidationError {
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "value_error")]
    pub kind: &'static str,
    /// The path to it: keys, and indices of arrays.
    #[schema(example = json!(["body", "params"]))]
    pub loc: Vec<LocationStep>,
    #[schema(value_type = String, example = "max_tokens is required for chat requests")]
    pub msg: Cow<'static, str>,
}

/// One step of the path: a key or an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Step)]
pub enum LocationStep {
    #[schema(value_type = String)]
    Key(Cow<'static, str>),
    Index(usize),
}

impl LocationStep {
    pub const fn key(name: &'static str) -> Self {
        Self::Key(Cow::Borrowed(name))
    }

    pub const fn name(name: String) -> Self {
        Self::Key(Cow::Owned(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(detail: ErrorDetail) -> String {
        serde_json::to_string(&ErrorBody { detail }).unwrap()
    }

    #[test]
    fn a_text() {
        let detail = ErrorDetail::Text("Cargo not found".into());
        insta::assert_snapshot!(written(detail), @r#"{"detail":"Cargo not found"}"#);
    }

    #[test]
    fn a_code_with_more() {
        let more = Map::from_iter([(
            "supported_models".to_owned(),
            Value::from(["svc-mock"].to_vec()),
        )]);
        let coded = CodedError {
            error: "invalid_model",
            message: "No such model.".to_owned(),
            more,
        };
        insta::assert_snapshot!(written(ErrorDetail::Coded(coded)), @r#"{"detail":{"error":"invalid_model","message":"No such model.","supported_models":["svc-mock"]}}"#);
    }

    #[test]
    fn validation_errors_with_keys_and_indices() {
        let fault = ValidationError {
            kind: "string_type",
            loc: vec![
                LocationStep::key("body"),
                LocationStep::key("messages"),
                LocationStep::Index(3),
            ],
            msg: "Input should be a string".into(),
        };
        insta::assert_snapshot!(written(ErrorDetail::ValidationErrors(vec![fault])), @r#"{"detail":[{"type":"string_type","loc":["body","messages",3],"msg":"Input should be a string"}]}"#);
    }
}
