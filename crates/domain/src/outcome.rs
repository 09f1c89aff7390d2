//! The outcome of a cargo. A failure is an outcome too and is delivered like a success.

use serde::{Deserialize, Serialize};

use crate::reason_code::{CargoFailure, FailureCode};

#[derive(Debug, Clone, PartialEq)]
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatCompletion {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub role: String,
    pub content: Vec<CompletionText>,
    pub model: String,
    pub stop_reason: StopReason,
    pub usage: TokenUsage,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionText {
    #[serde(rename = "type")]
    pub kind: String,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    StopSequence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
}

impl TokenUsage {
    pub const fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl CompletionText {
    pub fn of(text: String) -> Self {
        Self {
            kind: "text".to_owned(),
            text,
        }
    }
}

impl Completion {
    pub const fn usage(&self) -> TokenUsage {
        match self {
            Self::Embedding(completion) => completion.usage,
            Self::Chat(completion) => completion.usage,
        }
    }

    pub const fn set_usage(&mut self, usage: TokenUsage) {
        match self {
            Self::Embedding(completion) => completion.usage = usage,
            Self::Chat(completion) => completion.usage = usage,
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
