//! What the conversion of a request needs besides the request.
//!
//! It is found out once, when the batch is created, and stored with it: an item that is converted
//! again is the same load, whatever changed since.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// `max_tokens` of a request that has none, for a model whose largest answer is unknown.
const FALLBACK_MAX_TOKENS: u32 = 4096;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct ConversionDefaults {
    /// The most tokens that each model answers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) max_tokens: BTreeMap<String, u32>,
    /// The kinds of files that are no documents, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) file_kinds: BTreeMap<String, String>,
}

/// A request in our words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConvertedRequest {
    pub(crate) params: Map<String, Value>,
    /// The caller's tags of this request.
    pub(crate) metadata: Option<Map<String, Value>>,
}

impl ConversionDefaults {
    /// The most that the model answers: the caller named no limit.
    pub(super) fn max_tokens_of(&self, model: &str) -> u32 {
        let most = self.max_tokens.get(model).copied();
        most.unwrap_or(FALLBACK_MAX_TOKENS)
    }

    /// The type of the block for a file. A file that does not exist is refused when it is loaded.
    pub(super) fn block_type(&self, file: &str) -> &str {
        let kind = self.file_kinds.get(file);
        kind.map_or("document", String::as_str)
    }
}

/// The ids of files that a request may reference, wherever they are.
pub(crate) fn referenced_files(request: &Value, found: &mut Vec<String>) {
    match request {
        Value::Array(list) => {
            for value in list {
                referenced_files(value, found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(id) if name == "file_id" => found.push(id.clone()),
                    Value::Array(_) | Value::Object(_) => referenced_files(value, found),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
