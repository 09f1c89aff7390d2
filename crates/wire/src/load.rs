//! `POST /cargo/load`: the request and the acknowledgement.
//!
//! `api::load_validation` reads the request and reports all validation errors at once. The types
//! here describe it, and clients can write it with them.

use domain::id::CargoId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// One request for a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LoadRequest {
    pub params: ParamsBody,
    /// Where the result is sent with POST. Without it, poll the tracking record.
    ///
    /// An `http` or `https` URL with a host and without user name or password;
    /// in production, `https` only.
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
}

/// Chat with `messages`, or embedding with `input_text`: exactly one of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Params)]
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
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Answer in one sentence.")]
    pub system: Option<String>,
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
}

/// Texts to be turned into vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = EmbeddingParams, title = "Embedding")]
pub struct EmbeddingParamsBody {
    /// The id of an embedding model; case matters.
    pub model: String,
    pub input_text: InputTextBody,
}

/// One text, or several that get one vector each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = InputText)]
pub enum InputTextBody {
    One(String),
    Many(Vec<String>),
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Message)]
pub struct ChatMessageBody {
    /// Who speaks: `user`, `assistant`, `system` or `developer`. Not every model takes the last
    /// two among its messages; a system prompt goes into `system`.
    #[schema(pattern = "^(user|assistant|system|developer)$", example = "user")]
    pub role: String,
    pub content: MessageContentBody,
}

/// A text, or blocks of text and files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Content)]
pub enum MessageContentBody {
    #[schema(example = "Say hello.")]
    Text(String),
    Blocks(Vec<ContentBlockBody>),
}

/// Text, or a file that the model can read.
///
/// Images need a model with Vision, documents one with Documents, videos one with Video.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
#[schema(as = Block)]
pub enum ContentBlockBody {
    #[schema(title = "Text")]
    Text { text: String },
    #[schema(title = "Image")]
    Image { source: FileSourceBody },
    #[schema(title = "Document")]
    Document { source: FileSourceBody },
    #[schema(title = "Video")]
    Video { source: FileSourceBody },
}

/// A ready file of your project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Source)]
pub struct FileSourceBody {
    #[schema(example = "file_019b76da807b774b805000000000002a")]
    pub file_id: String,
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
}

impl LoadResponse {
    pub fn new(cargo: CargoId, message: &'static str) -> Self {
        Self {
            cargo_id: cargo.to_string(),
            status: "success",
            message,
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
    fn the_description_of_params_is_what_domain_reads() {
        let chat = r#"{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"b"},{"type":"image","source":{"file_id":"f"}},{"type":"document","source":{"file_id":"f"}},{"type":"video","source":{"file_id":"f"}}]}],"system":"s","temperature":0.5,"top_p":0.25,"top_k":40,"stop_sequences":["x"]}"#;
        let one = r#"{"model":"m","input_text":"a"}"#;
        let many = r#"{"model":"m","input_text":["a","b"]}"#;
        for json in [chat, one, many] {
            let described: ParamsBody = serde_json::from_str(json).unwrap();
            let read: domain::params::Params = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&described).unwrap(), json);
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
        }
    }
}
