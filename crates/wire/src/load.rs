//! `POST /cargo/load`: the request and the acknowledgement.
//!
//! `api::load_validation` reads the request and reports all validation errors at once. The types
//! here describe it, and clients can write it with them.

use std::collections::BTreeMap;

use domain::id::CargoId;
use domain::load_warning::{LoadWarning, WarningCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::load::content::{ChatMessageBody, SystemPromptBody};
use crate::load::thinking::{OutputConfigBody, ThinkingBody};
use crate::load::tools::{CacheControlBody, ToolBody, ToolChoiceBody};

pub mod content;
pub mod thinking;
pub mod tools;

/// One request for a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LoadRequest {
    pub params: ParamsBody,
    /// Where the result is sent with POST. Without it, poll the tracking record.
    ///
    /// An `http` or `https` URL with a host and without user name or password;
    /// in production, `https` only. Or `listen://NAME`: then the program that listens under this
    /// name with a key of your project gets the callback (`GET /listen`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        format = "uri",
        max_length = 2048,
        example = "https://example.com/callbacks/longshore"
    )]
    pub callback_url: Option<String>,
    /// Your tags, at most 4,096 bytes of JSON. Tracking returns them as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = json!({"order": 7}))]
    pub metadata: Option<Map<String, Value>>,
    /// You need the answer this many seconds after the load. Longshore chooses the cheapest way
    /// that usually answers in time. Without a deadline, the target is 24 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 60, maximum = 86400, example = 7200)]
    pub deadline_seconds: Option<u32>,
    /// The same as a time: 60 seconds to 24 hours after the load. Send only one of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time", example = "2026-11-15T12:00:00Z")]
    pub deadline_at: Option<String>,
    /// The group that the cargo becomes a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "grp_019b76da807b774b805000000000002a")]
    pub group_id: Option<String>,
    /// Your name for the cargo, unique in its group. The same `custom_id` with the same `params`,
    /// `callback_url` and `metadata` returns the first `cargo_id`, also after 24 hours and when the
    /// group is sealed. Without it, the position is the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 256, example = "row-7")]
    pub custom_id: Option<String>,
    /// The place of the cargo in the results of its group, unique there. Without it, the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 999_999_999_999_i64, example = 7)]
    pub position: Option<u64>,
}

/// Chat with `messages`, or embedding with `input_text`: exactly one of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Params)]
#[expect(
    clippy::large_enum_variant,
    reason = "clients write one at a time, and the server only describes it"
)]
pub enum ParamsBody {
    Chat(ChatParamsBody),
    Embedding(EmbeddingParamsBody),
}

/// A conversation to be continued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ChatParams, title = "Chat")]
pub struct ChatParamsBody {
    /// A model id; case matters. `svc-mock` is free and answers in about a minute.
    #[schema(example = "svc-mock")]
    pub model: String,
    /// The most tokens the answer may have. There is no default.
    #[schema(minimum = 1, example = 64)]
    pub max_tokens: u32,
    /// The conversation so far.
    #[schema(min_items = 1)]
    pub messages: Vec<ChatMessageBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemPromptBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1, example = 0.7)]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1, example = 0.9)]
    pub top_p: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = 40)]
    pub top_k: Option<i64>,
    /// The answer ends before the first of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["END"]))]
    pub stop_sequences: Vec<String>,
    /// Functions that the model may ask you to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 128)]
    pub tools: Vec<ToolBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoiceBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_config: Option<OutputConfigBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControlBody>,
    /// Makes answers more repeatable, where the model supports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 2_147_483_647, example = 7)]
    pub seed: Option<u32>,
    /// Fields for one kind of provider, such as `openai`. Only those that the operator allows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Option<Object>, example = json!({"openai": {"verbosity": "low"}}))]
    pub provider_options: BTreeMap<String, Map<String, Value>>,
}

/// Texts to be turned into vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = EmbeddingParams, title = "Embedding")]
pub struct EmbeddingParamsBody {
    /// The id of an embedding model; case matters.
    pub model: String,
    pub input_text: InputTextBody,
    /// The length of the vectors, if the model lets you choose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, example = 256)]
    pub dimensions: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_type: Option<EmbeddingInputTypeBody>,
}

/// What the vectors are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = EmbeddingInputType)]
pub enum EmbeddingInputTypeBody {
    Query,
    Document,
    Similarity,
    Classification,
    Clustering,
}

/// One text, or several that get one vector each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = InputText)]
pub enum InputTextBody {
    One(String),
    Many(Vec<String>),
}

/// The acknowledgement: the cargo is stored durably.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Loaded)]
pub struct LoadResponse {
    /// The id of this cargo in tracking and in its callback.
    #[schema(example = "crg_019b76da807b774b805000000000002a")]
    pub cargo_id: String,
    #[schema(value_type = String, example = "success")]
    pub status: &'static str,
    /// For people.
    #[schema(value_type = String, example = "Cargo loaded.")]
    pub message: &'static str,
    /// Fields that have no effect, or not the usual one. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<LoadWarningBody>,
}

/// A field that was accepted and has no effect, or not the usual one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Warning)]
pub struct LoadWarningBody {
    #[schema(example = "params.stream")]
    pub field: String,
    pub code: WarningCodeBody,
    /// For people: the text may change.
    #[schema(example = "Longshore has no field of this name and ignores it.")]
    pub message: String,
}

/// Why the field has no effect, or not the usual one. New codes may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = WarningCode)]
pub enum WarningCodeBody {
    /// Longshore does not know the field.
    UnknownField,
    /// The model does not take the field, so it is left out.
    IgnoredByModel,
    /// The model does not take the field, so Longshore applies it.
    Emulated,
}

impl LoadResponse {
    pub fn new(cargo: CargoId, message: &'static str) -> Self {
        Self {
            cargo_id: cargo.to_string(),
            status: "success",
            message,
            warnings: Vec::new(),
        }
    }

    #[must_use]
    pub fn with_warnings(self, warnings: Vec<LoadWarning>) -> Self {
        let warnings = warnings.into_iter().map(LoadWarningBody::from).collect();
        Self { warnings, ..self }
    }
}

impl From<LoadWarning> for LoadWarningBody {
    fn from(warning: LoadWarning) -> Self {
        Self {
            field: warning.field,
            code: warning.code.into(),
            message: warning.message,
        }
    }
}

impl From<WarningCode> for WarningCodeBody {
    fn from(code: WarningCode) -> Self {
        match code {
            WarningCode::UnknownField => Self::UnknownField,
            WarningCode::IgnoredByModel => Self::IgnoredByModel,
            WarningCode::Emulated => Self::Emulated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_acknowledgement() {
        let cargo = "crg_019b76da807b774b805000000000002a".parse().unwrap();
        insta::assert_snapshot!(serde_json::to_string(&LoadResponse::new(cargo, "Cargo loaded.")).unwrap(), @r#"{"cargo_id":"crg_019b76da807b774b805000000000002a","status":"success","message":"Cargo loaded."}"#);
    }

    #[test]
    fn a_warning_is_spelled_as_it_is_stored() {
        let codes = [
            WarningCode::UnknownField,
            WarningCode::IgnoredByModel,
            WarningCode::Emulated,
        ];
        let warnings = codes.map(|code| LoadWarning {
            field: "params.stream".to_owned(),
            code,
            message: "No.".to_owned(),
        });
        let cargo = "crg_019b76da807b774b805000000000002a".parse().unwrap();
        let loaded = LoadResponse::new(cargo, "Cargo loaded.").with_warnings(warnings.to_vec());
        let written = serde_json::to_value(&loaded).unwrap();
        assert_eq!(
            written["warnings"],
            serde_json::to_value(&warnings).unwrap()
        );
    }

    #[test]
    fn the_description_of_params_is_what_domain_reads() {
        let chat = r#"{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"b"},{"type":"image","source":{"file_id":"f"}},{"type":"document","source":{"file_id":"f"}},{"type":"video","source":{"file_id":"f"}}]}],"system":"s","temperature":0.5,"top_p":0.25,"top_k":40,"stop_sequences":["x"]}"#;
        let tools = r#"{"model":"m","max_tokens":4096,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"i","name":"n","input":{"z":1,"a":[]}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"b"},{"type":"image","source":{"file_id":"f"}},{"type":"document","source":{"file_id":"f"}}],"is_error":true},{"type":"tool_result","tool_use_id":"j","content":"c"}]}],"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],"tools":[{"name":"n","description":"d","input_schema":{"type":"object"},"strict":true,"cache_control":{"type":"ephemeral"}}],"tool_choice":{"type":"tool","name":"n","disable_parallel_tool_use":true},"output_config":{"format":{"type":"json_schema","schema":{"type":"object"},"name":"x"},"effort":"xhigh"},"thinking":{"type":"enabled","budget_tokens":2048,"display":"summarized"},"cache_control":{"type":"ephemeral","ttl":"5m"},"seed":7,"provider_options":{"openai":{"verbosity":"low"}}}"#;
        let one = r#"{"model":"m","input_text":"a"}"#;
        let many = r#"{"model":"m","input_text":["a","b"],"dimensions":256,"input_type":"query"}"#;
        for json in [chat, tools, one, many] {
            let described: ParamsBody = serde_json::from_str(json).unwrap();
            let read: domain::params::Params = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&described).unwrap(), json);
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
        }
    }
}
