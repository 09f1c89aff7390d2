//! The schema of `response` in tracking and callback.
//!
//! The API sends the stored bytes of `domain::outcome::Completion`. The types here describe them
//! to callers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The answer of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Completion)]
pub enum CompletionBody {
    Embedding(EmbeddingCompletionBody),
    Chat(ChatCompletionBody),
}

/// The answer to a chat request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ChatCompletion, title = "Chat")]
pub struct ChatCompletionBody {
    #[schema(example = "msg_019b76da807b774b805000000000002a")]
    pub id: String,
    #[serde(rename = "type")]
    #[schema(example = "message")]
    pub kind: String,
    #[schema(example = "assistant")]
    pub role: String,
    pub content: Vec<CompletionTextBody>,
    /// The model that processed the request.
    #[schema(example = "svc-mock")]
    pub model: String,
    pub stop_reason: StopReasonBody,
    pub usage: UsageBody,
}

/// The answer to an embedding request: one vector for each text, in the order of the texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = EmbeddingCompletion, title = "Embedding")]
pub struct EmbeddingCompletionBody {
    pub id: String,
    #[serde(rename = "type")]
    #[schema(example = "embedding")]
    pub kind: String,
    pub model: String,
    #[schema(example = json!([[0.25, -0.5]]))]
    pub embeddings: Vec<Vec<f32>>,
    pub usage: UsageBody,
}

/// A piece of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CompletionText)]
pub struct CompletionTextBody {
    #[serde(rename = "type")]
    #[schema(example = "text")]
    pub kind: String,
    #[schema(example = "Hello!")]
    pub text: String,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StopReason)]
pub enum StopReasonBody {
    EndTurn,
    MaxTokens,
    StopSequence,
}

/// Tokens read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Usage)]
pub struct UsageBody {
    #[schema(example = 6)]
    pub input_tokens: u64,
    #[schema(example = 4)]
    pub output_tokens: u64,
}

impl From<domain::outcome::TokenUsage> for UsageBody {
    fn from(usage: domain::outcome::TokenUsage) -> Self {
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
            let described: CompletionBody = serde_json::from_str(json).unwrap();
            let written: domain::outcome::Completion = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&described).unwrap(), json);
            assert_eq!(serde_json::to_string(&written).unwrap(), json);
        }
    }
}
