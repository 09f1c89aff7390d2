//! Tool calls of an answer, in a form that the caller can send back.

use std::collections::BTreeSet;

use domain::id::CargoId;
use domain::outcome::CompletionBlock;
use serde_json::{Map, Value};

/// The longest id that every provider takes back.
const MAX_ID_BYTES: usize = 64;

/// Reads the calls of one answer. Every id in it is unique.
#[derive(Debug)]
pub(super) struct ToolCallReader {
    cargo: CargoId,
    ids: BTreeSet<String>,
    count: usize,
}

impl ToolCallReader {
    pub(super) const fn new(cargo: CargoId) -> Self {
        Self {
            cargo,
            ids: BTreeSet::new(),
            count: 0,
        }
    }

    /// The id is replaced if it is missing, or if a caller could not send it back.
    pub(super) fn read(
        &mut self,
        id: Option<&str>,
        name: &str,
        input: Option<&Value>,
    ) -> CompletionBlock {
        let usable = id.filter(|id| is_usable(id) && !self.ids.contains(*id));
        let id = usable.map_or_else(
            || format!("toolu_{}_{}", self.cargo.uuid().simple(), self.count),
            str::to_owned,
        );
        self.count += 1;
        self.ids.insert(id.clone());
        CompletionBlock::ToolUse {
            id,
            name: name.to_owned(),
            input: parse_input(input),
        }
    }

    pub(super) const fn has_calls(&self) -> bool {
        self.count > 0
    }
}

fn is_usable(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=MAX_ID_BYTES).contains(&id.len()) && id.bytes().all(is_allowed)
}

/// `OpenAI` returns JSON as text. Models may write what is no JSON object. The call was paid for, so
/// the caller gets the text.
fn parse_input(input: Option<&Value>) -> Map<String, Value> {
    let text = match input {
        None | Some(Value::Null) => return Map::new(),
        Some(Value::Object(fields)) => return fields.clone(),
        Some(Value::String(text)) if text.trim().is_empty() => return Map::new(),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(fields) => return fields,
            Err(_) => text.clone(),
        },
        Some(other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_))) => other.to_string(),
    };
    Map::from_iter([("_raw".to_owned(), Value::String(text))])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::provider::fixtures::key;

    fn ids(given: &[Option<&str>]) -> Vec<String> {
        let mut reader = ToolCallReader::new(key().cargo);
        let calls = given.iter().map(|id| reader.read(*id, "find", None));
        let ids = calls.map(|call| match call {
            CompletionBlock::ToolUse { id, .. } => id,
            CompletionBlock::Text { .. }
            | CompletionBlock::Thinking { .. }
            | CompletionBlock::RedactedThinking { .. } => unreachable!("a call is a tool_use"),
        });
        ids.collect()
    }

    #[test]
    fn an_id_that_a_caller_cannot_send_back_is_replaced() {
        assert_eq!(ids(&[Some("call_a-1")]), ["call_a-1"]);
        let ours = "toolu_019b76daa80070008070000000000001_0";
        let too_long = "a".repeat(MAX_ID_BYTES + 1);
        for given in [None, Some(""), Some("a b"), Some("é"), Some(&*too_long)] {
            assert_eq!(ids(&[given]), [ours], "{given:?}");
        }
        assert!(is_usable(ours));
    }

    #[test]
    fn the_ids_of_an_answer_are_different() {
        let ours = "toolu_019b76daa80070008070000000000001_1";
        assert_eq!(ids(&[Some("a"), Some("a"), Some("b")]), ["a", ours, "b"]);
    }

    #[test]
    fn an_input_that_is_no_object_is_kept_as_text() {
        let read = |input: Option<Value>| Value::Object(parse_input(input.as_ref())).to_string();
        assert_eq!(read(Some(json!({"b": 1, "a": 2}))), r#"{"b":1,"a":2}"#);
        assert_eq!(read(Some(json!(r#"{"b":1,"a":2}"#))), r#"{"b":1,"a":2}"#);
        assert_eq!(read(None), "{}");
        assert_eq!(read(Some(Value::Null)), "{}");
        assert_eq!(read(Some(json!("{\"a"))), r#"{"_raw":"{\"a"}"#);
        assert_eq!(read(Some(json!([1]))), r#"{"_raw":"[1]"}"#);
    }
}
