//! `thinking` and `output_config`: how much the model thinks, and the form of its answer.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use crate::effort::Effort;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Thinking {
    Disabled,
    /// The model decides how much it thinks.
    Adaptive {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display: Option<ThinkingDisplay>,
    },
    /// The model thinks with at most this many tokens.
    Enabled {
        budget_tokens: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display: Option<ThinkingDisplay>,
    },
}

/// Whether the answer contains the thoughts in readable form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingDisplay {
    Summarized,
    Omitted,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OutputConfig {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<OutputFormat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputFormat {
    /// The answer is JSON of this schema.
    JsonSchema {
        schema: Map<String, Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

impl Thinking {
    pub const fn display(self) -> Option<ThinkingDisplay> {
        match self {
            Self::Disabled => None,
            Self::Adaptive { display } | Self::Enabled { display, .. } => display,
        }
    }
}
