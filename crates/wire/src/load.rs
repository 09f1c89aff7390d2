//! `POST /cargo/load`: what is asked, and the acknowledgement.
//!
//! The request is read by `api::check`, which reports every fault at
//! once. The types here are its description, and what a client writes.

use domain::id::CargoId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// One request for a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LoadRequest {
    pub params: Params,
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
    /// Your own tags, at most 4,096 bytes of JSON. Tracking returns them as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = json!({"order": 7}))]
    pub metadata: Option<Map<String, Value>>,
}

/// Chat with `messages`, or embedding with `input_text`: exactly one of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Params {
    Chat(Chat),
    Embedding(Embedding),
}

/// A conversation to be continued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ChatParams, title = "Chat")]
pub struct Chat {
    /// A model id; case matters. `svc-mock` is free and answers in about a minute.
    #[schema(example = "svc-mock")]
    pub model: String,
    /// The most tokens the answer may have. There is no default.
    #[schema(minimum = 1, example = 64)]
    pub max_tokens: u32,
    /// The conversation so far.
    #[schema(min_items = 1)]
    pub messages: Vec<Message>,
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
pub struct Embedding {
    /// The id of an embedding model; case matters.
    pub model: String,
    pub input_text: InputText,
}

/// One text, or several that get one vector each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum InputText {
    One(String),
    Many(Vec<String>),
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// Who speaks: `user`, `assistant`, `system` or `developer`. Not every model takes the last
    /// two among its messages; a system prompt goes into `system`.
    #[schema(pattern = "^(user|assistant|system|developer)$", example = "user")]
    pub role: String,
    pub content: Content,
}

/// A text, or blocks of text and files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Content {
    #[schema(example = "Say hello to the harbour.")]
    Text(String),
    Blocks(Vec<Block>),
}

/// Text, or a file that the model can read.
///
/// Images need a model with Vision, documents one with Documents, videos one with Video.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Block {
    #[schema(title = "Text")]
    Text { text: String },
    #[schema(title = "Image")]
    Image { source: Source },
    #[schema(title = "Document")]
    Document { source: Source },
    #[schema(title = "Video")]
    Video { source: Source },
}

/// A ready file of your project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Source {
    #[schema(example = "file_019b76da807b774b805000000000002a")]
    pub file_id: String,
}

/// The acknowledgement: the cargo is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Loaded {
    /// The name of this cargo in tracking and in its callback.
    #[schema(example = "crg_019b76da807b774b805000000000002a")]
    pub cargo_id: String,
    #[schema(value_type = String, example = "success")]
    pub status: &'static str,
    /// For people.
    #[schema(value_type = String, example = "Cargo loaded.")]
    pub message: &'static str,
}

impl Loaded {
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
        insta::assert_snapshot!(serde_json::to_string(&Loaded::new(cargo, "Cargo loaded.")).unwrap(), @r#"{"cargo_id":"crg_019b76da807b774b805000000000002a","status":"success","message":"Cargo loaded."}"#);
    }

    #[test]
    fn the_description_of_params_is_what_domain_reads() {
        let chat = r#"{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"b"},{"type":"image","source":{"file_id":"f"}},{"type":"document","source":{"file_id":"f"}},{"type":"video","source":{"file_id":"f"}}]}],"system":"s","temperature":0.5,"top_p":0.25,"top_k":40,"stop_sequences":["x"]}"#;
        let one = r#"{"model":"m","input_text":"a"}"#;
        let many = r#"{"model":"m","input_text":["a","b"]}"#;
        for json in [chat, one, many] {
            let described: Params = serde_json::from_str(json).unwrap();
            let read: domain::params::Params = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&described).unwrap(), json);
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
        }
    }
}
