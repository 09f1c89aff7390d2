//! Tools, and marks for the prompt cache.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A function that you run. The model asks for it with a `tool_use` block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Tool)]
pub struct ToolBody {
    #[schema(pattern = "^[A-Za-z_][A-Za-z0-9_-]{0,63}$", example = "get_weather")]
    pub name: String,
    /// What the tool does, and when the model should call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "The weather of a city.")]
    pub description: Option<String>,
    /// JSON Schema of the arguments. Its `type` is `object`.
    #[schema(
        value_type = Object,
        example = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
    )]
    pub input_schema: Map<String, Value>,
    /// The provider enforces the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControlBody>,
}

/// Whether and which tools the model calls. Without it, the model decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = ToolChoice)]
pub enum ToolChoiceBody {
    /// The model decides.
    #[schema(title = "Auto")]
    Auto {
        /// At most one call in an answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        disable_parallel_tool_use: bool,
    },
    /// The model calls at least one tool.
    #[schema(title = "Any")]
    Any {
        /// Exactly one call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        disable_parallel_tool_use: bool,
    },
    /// The model calls this tool.
    #[schema(title = "Tool")]
    Tool {
        #[schema(example = "get_weather")]
        name: String,
        /// Exactly one call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        disable_parallel_tool_use: bool,
    },
    /// The model calls no tool.
    #[schema(title = "None")]
    None,
}

/// Asks the provider to cache the prompt up to this part. At most 4 in a request, those of an hour
/// before those of 5 minutes. A model without such marks ignores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = CacheControl)]
pub enum CacheControlBody {
    #[schema(title = "Ephemeral")]
    Ephemeral {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl: Option<CacheTtlBody>,
    },
}

/// How long the prompt stays in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CacheTtl)]
pub enum CacheTtlBody {
    #[serde(rename = "5m")]
    FiveMinutes,
    #[serde(rename = "1h")]
    OneHour,
}
