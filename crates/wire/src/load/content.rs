//! The messages of a chat, and the system prompt.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::load::tools::CacheControlBody;

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Message)]
pub struct ChatMessageBody {
    /// Who speaks: `user`, `assistant`, `system` or `developer`. Not every model takes the last
    /// two among its messages; a system prompt goes into `system`.
    #[schema(pattern = "^(user|assistant|system|developer)$", example = "user")]
    pub role: String,
    pub content: MessageContentBody,
}

/// A text, or blocks of text, files, calls of tools and their results, and thoughts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Content)]
pub enum MessageContentBody {
    #[schema(example = "Say hello.")]
    Text(String),
    Blocks(Vec<ContentBlockBody>),
}

/// Text, a file that the model can read, or a part of an earlier turn.
///
/// Images need a model with Vision, documents one with Documents, videos one with Video. Blocks
/// of tools and thoughts need a model with these features.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = Block)]
pub enum ContentBlockBody {
    #[schema(title = "Text")]
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControlBody>,
    },
    #[schema(title = "Image")]
    Image {
        source: FileSourceBody,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControlBody>,
    },
    #[schema(title = "Document")]
    Document {
        source: FileSourceBody,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControlBody>,
    },
    #[schema(title = "Video")]
    Video {
        source: FileSourceBody,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControlBody>,
    },
    /// A call of a tool, as the answer contained it. Only in messages of the assistant.
    #[schema(title = "Call of a tool")]
    ToolUse {
        #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$", example = "toolu_1")]
        id: String,
        #[schema(pattern = "^[A-Za-z_][A-Za-z0-9_-]{0,63}$", example = "get_weather")]
        name: String,
        #[schema(value_type = Object, example = json!({"city": "Kiel"}))]
        input: Map<String, Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControlBody>,
    },
    /// What a tool returned, in the user's message after the call. Every call needs a result, and
    /// results are the first blocks of their message.
    #[schema(title = "Result of a tool")]
    ToolResult {
        /// The `id` of the call.
        #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$", example = "toolu_1")]
        tool_use_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<ToolResultContentBody>,
        /// Whether the tool failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControlBody>,
    },
    /// Thoughts of an earlier answer. Return them unchanged.
    #[schema(title = "Thoughts")]
    Thinking { thinking: String, signature: String },
    /// Thoughts that the provider encrypted. Return them unchanged.
    #[schema(title = "Encrypted thoughts")]
    RedactedThinking { data: String },
}

/// A text, or blocks of text, images and documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ToolResultContent)]
pub enum ToolResultContentBody {
    #[schema(example = "12 °C, rain")]
    Text(String),
    Blocks(Vec<ToolResultBlockBody>),
}

/// A part of what a tool returned. Not every model takes images and documents here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = ToolResultBlock)]
pub enum ToolResultBlockBody {
    #[schema(title = "Text")]
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControlBody>,
    },
    #[schema(title = "Image")]
    Image {
        source: FileSourceBody,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControlBody>,
    },
    #[schema(title = "Document")]
    Document {
        source: FileSourceBody,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControlBody>,
    },
}

/// A ready file of your project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Source)]
pub struct FileSourceBody {
    #[schema(example = "file_019b76da807b774b805000000000002a")]
    pub file_id: String,
}

/// The system prompt: a text, or text blocks that can be cached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = System)]
pub enum SystemPromptBody {
    #[schema(example = "Answer in one sentence.")]
    Text(String),
    Blocks(Vec<SystemBlockBody>),
}

/// A paragraph of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = SystemBlock)]
pub enum SystemBlockBody {
    #[schema(title = "Text")]
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControlBody>,
    },
}
