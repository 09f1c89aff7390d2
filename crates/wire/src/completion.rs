//! The schema of `response` in tracking and callback.
//!
//! The API sends the stored bytes of `domain::outcome::Completion`. The types here describe them
//! to callers.

use domain::outcome::{ReportedUsage, TokenUsage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
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
    /// One text block. The answer to a request with tools, `thinking` or `output_config` may have
    /// other blocks and no text.
    pub content: Vec<CompletionBlockBody>,
    /// The model that processed the request.
    #[schema(example = "svc-mock")]
    pub model: String,
    pub stop_reason: StopReasonBody,
    /// The stop sequence that ended the answer, if the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "END")]
    pub stop_sequence: Option<String>,
    /// Why the model refused, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub stop_details: Option<StopDetailsBody>,
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

/// A part of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = CompletionBlock)]
pub enum CompletionBlockBody {
    #[schema(title = "Text")]
    Text {
        #[schema(example = "Hello!")]
        text: String,
    },
    /// The model asks you to run a tool. Load the conversation again with this block and its
    /// result.
    #[schema(title = "Call of a tool")]
    ToolUse {
        #[schema(example = "toolu_1")]
        id: String,
        #[schema(example = "get_weather")]
        name: String,
        /// The arguments. If the model wrote no JSON object, its text is in `_raw`.
        #[schema(value_type = Object, example = json!({"city": "Kiel"}))]
        input: Map<String, Value>,
    },
    /// What the model thought. Return the block unchanged in the next turn.
    #[schema(title = "Thoughts")]
    Thinking { thinking: String, signature: String },
    /// Thoughts that the provider encrypted. Return the block unchanged in the next turn.
    #[schema(title = "Encrypted thoughts")]
    RedactedThinking { data: String },
}

/// Why the model stopped. Only a request with tools, `thinking` or `output_config` gets `tool_use`
/// and `refusal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StopReason)]
pub enum StopReasonBody {
    EndTurn,
    MaxTokens,
    StopSequence,
    ToolUse,
    Refusal,
}

/// Why the model refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = StopDetails)]
pub struct StopDetailsBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub category: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub explanation: Option<String>,
}

/// Tokens read and written. The details are parts of the two counts, for a request with tools,
/// `thinking`, `output_config` or `cache_control`, and absent if they are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Usage)]
pub struct UsageBody {
    #[schema(example = 6)]
    pub input_tokens: u64,
    #[schema(example = 4)]
    pub output_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub input_tokens_details: Option<InputTokensDetailsBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub output_tokens_details: Option<OutputTokensDetailsBody>,
}

/// Parts of `input_tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InputTokensDetails)]
pub struct InputTokensDetailsBody {
    /// Read from the provider's prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1024)]
    pub cached_tokens: Option<u64>,
    /// Written to the provider's prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 512)]
    pub cache_write_tokens: Option<u64>,
}

/// Parts of `output_tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = OutputTokensDetails)]
pub struct OutputTokensDetailsBody {
    #[schema(example = 256)]
    pub thinking_tokens: u64,
}

impl From<TokenUsage> for UsageBody {
    fn from(usage: TokenUsage) -> Self {
        ReportedUsage::plain(usage).into()
    }
}

impl From<ReportedUsage> for UsageBody {
    fn from(usage: ReportedUsage) -> Self {
        let positive = |count: u64| (count > 0).then_some(count);
        let input = usage.input_tokens_details;
        let output = usage.output_tokens_details;
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            input_tokens_details: input.map(|details| InputTokensDetailsBody {
                cached_tokens: positive(details.cached_tokens),
                cache_write_tokens: positive(details.cache_write_tokens),
            }),
            output_tokens_details: output.map(|details| OutputTokensDetailsBody {
                thinking_tokens: details.thinking_tokens,
            }),
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
        let tools = r#"{"id":"i","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"n","input":{"z":1,"a":2}}],"model":"m","stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":5,"input_tokens_details":{"cached_tokens":3,"cache_write_tokens":2},"output_tokens_details":{"thinking_tokens":4}}}"#;
        let refusal = r#"{"id":"i","type":"message","role":"assistant","content":[{"type":"text","text":"a"}],"model":"m","stop_reason":"refusal","stop_sequence":"END","stop_details":{"category":"c","explanation":"e"},"usage":{"input_tokens":9,"output_tokens":5,"input_tokens_details":{"cached_tokens":3}}}"#;
        for json in [chat, tools, refusal, embedding] {
            let described: CompletionBody = serde_json::from_str(json).unwrap();
            let written: domain::outcome::Completion = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&described).unwrap(), json);
            assert_eq!(serde_json::to_string(&written).unwrap(), json);
        }
    }
}
