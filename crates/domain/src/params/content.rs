//! The messages of a chat and their content blocks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::file;
use crate::params::cache_control::CacheControl;

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    pub role: String,
    pub content: MessageContent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MessageContent {
    Text(String),
    Blocks(Vec<ContentBlock>),
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: FileSource,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Document {
        source: FileSource,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Video {
        source: FileSource,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// A call of a tool, in a turn of the assistant.
    ToolUse {
        id: String,
        name: String,
        input: Map<String, Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// What a tool returned, in the turn of the user after the call.
    ToolResult {
        tool_use_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<ToolResultContent>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// Thoughts of an earlier answer, returned as they came.
    Thinking {
        thinking: String,
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
}

/// What a tool returned: a text, or text, image and document blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToolResultContent {
    Text(String),
    Blocks(Vec<ContentBlock>),
}

/// An uploaded file of the caller's project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSource {
    pub file_id: String,
}

/// The system prompt: a text, or text blocks that can be cached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SystemPrompt {
    Text(String),
    Blocks(Vec<SystemBlock>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SystemBlock {
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

impl SystemPrompt {
    pub fn blocks(&self) -> &[SystemBlock] {
        match self {
            Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks,
        }
    }

    /// The whole prompt, with its blocks as paragraphs.
    pub fn joined(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => {
                let texts: Vec<&str> = blocks.iter().map(SystemBlock::text).collect();
                texts.join("\n\n")
            }
        }
    }

    pub fn is_cached(&self) -> bool {
        let mut marks = self.blocks().iter().map(SystemBlock::cache_control);
        marks.any(|mark| mark.is_some())
    }
}

impl SystemBlock {
    pub fn text(&self) -> &str {
        let Self::Text { text, .. } = self;
        text
    }

    pub const fn cache_control(&self) -> Option<CacheControl> {
        let Self::Text { cache_control, .. } = self;
        *cache_control
    }
}

impl MessageContent {
    /// The blocks of the content; none if it is a plain string.
    pub fn blocks(&self) -> &[ContentBlock] {
        match self {
            Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks,
        }
    }

    /// The texts in reading order, without those of tools and thoughts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let whole = match self {
            Self::Text(text) => Some(text.as_str()),
            Self::Blocks(_) => None,
        };
        let parts = self.blocks().iter().filter_map(ContentBlock::text);
        whole.into_iter().chain(parts)
    }
}

impl ToolResultContent {
    pub fn blocks(&self) -> &[ContentBlock] {
        match self {
            Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks,
        }
    }
}

impl ContentBlock {
    pub const fn plain_text(text: String) -> Self {
        Self::Text {
            text,
            cache_control: None,
        }
    }

    /// The text of a text block.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Image { .. }
            | Self::Document { .. }
            | Self::Video { .. }
            | Self::ToolUse { .. }
            | Self::ToolResult { .. }
            | Self::Thinking { .. }
            | Self::RedactedThinking { .. } => None,
        }
    }

    pub const fn cache_control(&self) -> Option<CacheControl> {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::Document { cache_control, .. }
            | Self::Video { cache_control, .. }
            | Self::ToolUse { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => *cache_control,
            Self::Thinking { .. } | Self::RedactedThinking { .. } => None,
        }
    }

    /// Blocks inside this one.
    pub fn nested(&self) -> &[Self] {
        match self {
            Self::ToolResult {
                content: Some(content),
                ..
            } => content.blocks(),
            Self::ToolResult { content: None, .. }
            | Self::Text { .. }
            | Self::Image { .. }
            | Self::Document { .. }
            | Self::Video { .. }
            | Self::ToolUse { .. }
            | Self::Thinking { .. }
            | Self::RedactedThinking { .. } => &[],
        }
    }

    /// The kind and id of the file that the block references.
    pub(crate) fn file_reference(&self) -> Option<(file::FileKind, &str)> {
        match self {
            Self::Image { source, .. } => Some((file::FileKind::Image, &source.file_id)),
            Self::Document { source, .. } => Some((file::FileKind::Document, &source.file_id)),
            Self::Video { source, .. } => Some((file::FileKind::Video, &source.file_id)),
            Self::Text { .. }
            | Self::ToolUse { .. }
            | Self::ToolResult { .. }
            | Self::Thinking { .. }
            | Self::RedactedThinking { .. } => None,
        }
    }

    /// Bytes that the model reads as text: of a tool's call and result and of thoughts, too.
    pub fn text_bytes(&self) -> usize {
        match self {
            Self::Text { text, .. } => text.len(),
            Self::Image { .. } | Self::Document { .. } | Self::Video { .. } => 0,
            Self::ToolUse {
                id, name, input, ..
            } => id.len() + name.len() + json_bytes(input),
            Self::ToolResult {
                tool_use_id,
                content,
                ..
            } => {
                let inside = match content {
                    None => 0,
                    Some(ToolResultContent::Text(text)) => text.len(),
                    Some(ToolResultContent::Blocks(blocks)) => {
                        blocks.iter().map(Self::text_bytes).sum()
                    }
                };
                tool_use_id.len() + inside
            }
            Self::Thinking {
                thinking,
                signature,
            } => thinking.len() + signature.len(),
            Self::RedactedThinking { data } => data.len(),
        }
    }
}

/// The length of a JSON object as text.
pub(crate) fn json_bytes(object: &Map<String, Value>) -> usize {
    serde_json::to_string(object).map_or(0, |text| text.len())
}
