//! How much the model thinks, and the form of its answer.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Whether the model thinks before it answers. Thoughts count as output, and `max_tokens` bounds
/// them too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = Thinking)]
pub enum ThinkingBody {
    #[schema(title = "Disabled")]
    Disabled,
    /// The model decides how much it thinks.
    #[schema(title = "Adaptive")]
    Adaptive {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display: Option<ThinkingDisplayBody>,
    },
    /// The model thinks with at most this many tokens.
    #[schema(title = "Enabled")]
    Enabled {
        /// Less than `max_tokens`.
        #[schema(minimum = 1024, example = 2048)]
        budget_tokens: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display: Option<ThinkingDisplayBody>,
    },
}

/// Whether the answer contains readable thoughts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ThinkingDisplay)]
pub enum ThinkingDisplayBody {
    Summarized,
    Omitted,
}

/// The form of the answer, and how hard the model tries.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = OutputConfig)]
pub struct OutputConfigBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<OutputFormatBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<EffortBody>,
}

/// The answer is JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = OutputFormat)]
pub enum OutputFormatBody {
    /// The text of the answer is JSON that fits the schema.
    #[schema(title = "JSON Schema")]
    JsonSchema {
        /// Objects that do not say so allow no additional properties.
        #[schema(
            value_type = Object,
            example = json!({"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]})
        )]
        schema: Map<String, Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(pattern = "^[A-Za-z_][A-Za-z0-9_-]{0,63}$", example = "invoice")]
        name: Option<String>,
    },
}

/// How hard the model tries. Not every model has every level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Effort)]
pub enum EffortBody {
    Low,
    Medium,
    High,
    XHigh,
    Max,
}
