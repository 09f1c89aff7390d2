//! The body of every refusal: `{"detail": …}`.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Why the answer is no.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Refusal {
    pub detail: Detail,
}

/// A text, a code that a program can act on, or a list of faults.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Detail {
    #[schema(value_type = String)]
    Text(Cow<'static, str>),
    Coded(Coded),
    Faults(Vec<Fault>),
}

/// `error` is for programs, `message` for people; more fields belong to the error.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = CodedDetail)]
pub struct Coded {
    #[schema(value_type = String, example = "invalid_model")]
    pub error: &'static str,
    pub message: String,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// One thing wrong with the request, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Fault {
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "value_error")]
    pub kind: &'static str,
    /// The way to it: keys, and indices of arrays.
    #[schema(example = json!(["body", "params"]))]
    pub loc: Vec<Step>,
    #[schema(value_type = String, example = "max_tokens is required for chat requests")]
    pub msg: Cow<'static, str>,
}

/// A step into the request: a key or an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Step {
    #[schema(value_type = String)]
    Key(&'static str),
    Index(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(detail: Detail) -> String {
        serde_json::to_string(&Refusal { detail }).unwrap()
    }

    #[test]
    fn a_text() {
        let detail = Detail::Text("Cargo not found".into());
        insta::assert_snapshot!(written(detail), @r#"{"detail":"Cargo not found"}"#);
    }

    #[test]
    fn a_code_with_more() {
        let more = Map::from_iter([(
            "supported_models".to_owned(),
            Value::from(["svc-mock"].to_vec()),
        )]);
        let coded = Coded {
            error: "invalid_model",
            message: "No such model.".to_owned(),
            more,
        };
        insta::assert_snapshot!(written(Detail::Coded(coded)), @r#"{"detail":{"error":"invalid_model","message":"No such model.","supported_models":["svc-mock"]}}"#);
    }

    #[test]
    fn faults_with_keys_and_indices() {
        let fault = Fault {
            kind: "string_type",
            loc: vec![Step::Key("body"), Step::Key("messages"), Step::Index(3)],
            msg: "Input should be a string".into(),
        };
        insta::assert_snapshot!(written(Detail::Faults(vec![fault])), @r#"{"detail":[{"type":"string_type","loc":["body","messages",3],"msg":"Input should be a string"}]}"#);
    }
}
