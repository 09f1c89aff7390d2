//! `tools` and `tool_choice`: functions that the model may ask the caller to run.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::params::cache_control::CacheControl;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the tool's input, with its keys in the caller's order.
    pub input_schema: Map<String, Value>,
    /// The provider enforces the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolChoice {
    Auto {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        disable_parallel_tool_use: bool,
    },
    /// The model must call some tool.
    Any {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        disable_parallel_tool_use: bool,
    },
    /// The model must call this tool.
    Tool {
        name: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        disable_parallel_tool_use: bool,
    },
    None,
}

impl ToolChoice {
    pub const fn disables_parallel_use(&self) -> bool {
        match self {
            Self::Auto {
                disable_parallel_tool_use,
            }
            | Self::Any {
                disable_parallel_tool_use,
            }
            | Self::Tool {
                disable_parallel_tool_use,
                ..
            } => *disable_parallel_tool_use,
            Self::None => false,
        }
    }

    /// Whether the model must call a tool.
    pub const fn is_forced(&self) -> bool {
        matches!(self, Self::Any { .. } | Self::Tool { .. })
    }
}
