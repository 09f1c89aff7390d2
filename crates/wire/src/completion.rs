//! The `response` of tracking and callback, described.
//!
//! What goes out are the stored bytes of `domain::outcome::Completion`; the
//! types here tell callers what to expect in them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the model answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Completion {
    Embedding(EmbeddingCompletion),
    Chat(ChatCompletion),
}

/// The answer to a chat request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(title = "Chat")]
pub struct ChatCompletion {
    #[schema(example = "msg_019b76da807b774b805000000000002a")]
    pub id: String,
    #[serde(rename = "type")]
    #[schema(example = "message")]
    pub kind: String,
    #[schema(example = "assistant")]
    pub role: String,
    pub content: Vec<Text>,
    /// The model that processed the request.
    #[schema(example = "svc-mock")]
    pub model: String,
    pub stop_reason: StopReason,
    pub usage: Usage,
}

/// The answer to an embedding request: one vector for each text, in their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(title = "Embedding")]
pub struct EmbeddingCompletion {
    pub id: String,
    #[serde(rename = "type")]
    #[schema(example = "embedding")]
    pub kind: String,
    pub model: String,
    #[schema(example = json!([[0.25, -0.5]]))]
    pub embeddings: Vec<Vec<f32>>,
    pub usage: Usage,
}

/// A piece of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CompletionText)]
pub struct Text {
    #[serde(rename = "type")]
    #[schema(example = "text")]
    pub kind: String,
    #[schema(example = "Hello, harbour.")]
    pub text: String,
}

/// Why the answer ends where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    StopSequence,
}

/// Tokens read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    #[schema(example = 6)]
    pub input_tokens: u64,
    #[schema(example = 4)]
    pub output_tokens: u64,
}

impl From<domain::outcome::Usage> for Usage {
    fn from(usage: domain::outcome::Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_of_a_response_is_what_domain_writes() {
        let chat = r#"{"id":"i","type":"message","role":"assistant","content":[{"type":"text","text":"a"}],"model":"m","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}"#;
        let embedding = r#"{"id":"i","type":"embedding","model":"m","embeddings":[[0.25,-0.5]],"usage":{"input_tokens":1,"output_tokens":0}}"#;
        for json in [chat, embedding] {
            let described: Completion = serde_json::from_str(json).unwrap();
            let written: domain::outcome::Completion = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&described).unwrap(), json);
            assert_eq!(serde_json::to_string(&written).unwrap(), json);
        }
    }
}
