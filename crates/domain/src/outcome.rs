//! The outcome of a cargo. A failure is an outcome too and is delivered like a success.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::reason_code::{CargoFailure, FailureCode};
use crate::token_buckets::TokenBuckets;
pub use crate::token_buckets::TokenUsage;

#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "almost every outcome is a success, and only some hundreds are in memory"
)]
pub enum Outcome {
    Success(Completion),
    Failure(CargoFailure),
}

/// The contract's `response`: the same in the row, in tracking and in the callback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Completion {
    Embedding(EmbeddingCompletion),
    Chat(ChatCompletion),
}

/// The answer to a chat request. Only an extended request gets more than the contract says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatCompletion {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub role: String,
    pub content: Vec<CompletionBlock>,
    pub model: String,
    pub stop_reason: StopReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequence: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_details: Option<StopDetails>,
    pub usage: ReportedUsage,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbeddingCompletion {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub model: String,
    pub embeddings: Vec<Vec<f32>>,
    pub usage: TokenUsage,
}

/// A part of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CompletionBlock {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Map<String, Value>,
    },
    Thinking {
        thinking: String,
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    StopSequence,
    ToolUse,
    Refusal,
}

/// Why the model refused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StopDetails {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

/// The usage that the caller sees: two totals and, for an extended request, parts of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReportedUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens_details: Option<InputTokensDetails>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens_details: Option<OutputTokensDetails>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InputTokensDetails {
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OutputTokensDetails {
    pub thinking_tokens: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ReportedUsage {
    pub const fn plain(usage: TokenUsage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            input_tokens_details: None,
            output_tokens_details: None,
        }
    }

    /// Details that are 0 are left out.
    pub fn detailed(buckets: TokenBuckets) -> Self {
        let input = InputTokensDetails {
            cached_tokens: buckets.cached,
            cache_write_tokens: buckets.cache_write.saturating_add(buckets.cache_write_1h),
        };
        let output = OutputTokensDetails {
            thinking_tokens: buckets.thinking,
        };
        Self {
            input_tokens_details: (input != InputTokensDetails::default()).then_some(input),
            output_tokens_details: (buckets.thinking > 0).then_some(output),
            ..Self::plain(buckets.totals())
        }
    }

    pub const fn totals(self) -> TokenUsage {
        TokenUsage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
        }
    }
}

impl CompletionBlock {
    pub const fn plain_text(text: String) -> Self {
        Self::Text { text }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::ToolUse { .. } | Self::Thinking { .. } | Self::RedactedThinking { .. } => None,
        }
    }

    /// Whether the block is an answer: text or a call.
    pub fn is_filled(&self) -> bool {
        match self {
            Self::Text { text } => !text.is_empty(),
            Self::ToolUse { .. } => true,
            Self::Thinking { .. } | Self::RedactedThinking { .. } => false,
        }
    }

    /// The bytes of the block, for an estimate of its tokens.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text { text } => text.len(),
            Self::ToolUse { name, input, .. } => {
                name.len() + crate::params::content::json_bytes(input)
            }
            Self::Thinking { thinking, .. } => thinking.len(),
            Self::RedactedThinking { data } => data.len(),
        }
    }
}

impl Completion {
    pub const fn usage(&self) -> TokenUsage {
        match self {
            Self::Embedding(completion) => completion.usage,
            Self::Chat(completion) => completion.usage.totals(),
        }
    }

    pub const fn set_usage(&mut self, usage: TokenUsage) {
        match self {
            Self::Embedding(completion) => completion.usage = usage,
            Self::Chat(completion) => completion.usage = ReportedUsage::plain(usage),
        }
    }
}

impl Outcome {
    pub const fn usage(&self) -> TokenUsage {
        match self {
            Self::Success(completion) => completion.usage(),
            Self::Failure(_) => TokenUsage {
                input_tokens: 0,
                output_tokens: 0,
            },
        }
    }

    pub const fn failure_code(&self) -> Option<FailureCode> {
        match self {
            Self::Success(_) => None,
            Self::Failure(failure) => Some(failure.code),
        }
    }
}
