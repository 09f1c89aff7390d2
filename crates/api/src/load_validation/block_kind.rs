//! The types of content blocks, and the fields of each.

use domain::file;

use super::reader::{FieldValue, ValueMismatch, ValueReader};

const INVALID_BLOCK_TYPE: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be text, image, document, video, tool_use, tool_result, thinking or \
     redacted_thinking",
);
const INVALID_RESULT_TYPE: ValueMismatch =
    ValueMismatch("value_error", "Input should be text, image or document");

const FILE_FIELDS: &[&str] = &["source", "cache_control"];
const MESSAGE_KEYS: &[&str] = &[
    "type",
    "text",
    "source",
    "cache_control",
    "id",
    "name",
    "input",
    "tool_use_id",
    "content",
    "is_error",
    "thinking",
    "signature",
    "data",
];
const RESULT_KEYS: &[&str] = &["type", "text", "source", "cache_control"];

/// Where a block is. A result of a tool has blocks of its own, and these have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockPlace {
    Message,
    ToolResult,
}

impl BlockPlace {
    pub(super) const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Message => MESSAGE_KEYS,
            Self::ToolResult => RESULT_KEYS,
        }
    }
}

/// The `type` of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    File(file::FileKind),
    ToolUse,
    ToolResult,
    Thinking,
    RedactedThinking,
}

impl BlockKind {
    /// The fields beside `type`.
    pub(super) const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["text", "cache_control"],
            Self::File(_) => FILE_FIELDS,
            Self::ToolUse => &["id", "name", "input", "cache_control"],
            Self::ToolResult => &["tool_use_id", "content", "is_error", "cache_control"],
            Self::Thinking => &["thinking", "signature"],
            Self::RedactedThinking => &["data"],
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "text" => Self::Text,
            "image" => Self::File(file::FileKind::Image),
            "document" => Self::File(file::FileKind::Document),
            "video" => Self::File(file::FileKind::Video),
            "tool_use" => Self::ToolUse,
            "tool_result" => Self::ToolResult,
            "thinking" => Self::Thinking,
            "redacted_thinking" => Self::RedactedThinking,
            _ => return None,
        })
    }

    const fn fits_result(self) -> bool {
        match self {
            Self::Text | Self::File(file::FileKind::Image | file::FileKind::Document) => true,
            Self::File(file::FileKind::Video)
            | Self::ToolUse
            | Self::ToolResult
            | Self::Thinking
            | Self::RedactedThinking => false,
        }
    }
}

#[derive(Debug)]
pub(super) struct BlockKindReader(pub BlockPlace);

impl ValueReader<'_> for BlockKindReader {
    type Value = BlockKind;
    const MISMATCH: ValueMismatch = INVALID_BLOCK_TYPE;

    fn read_text(self, text: &str) -> FieldValue<BlockKind> {
        let kind = BlockKind::parse(text);
        match (kind, self.0) {
            (Some(kind), BlockPlace::Message) => FieldValue::Valid(kind),
            (Some(kind), BlockPlace::ToolResult) if kind.fits_result() => FieldValue::Valid(kind),
            (Some(_) | None, BlockPlace::ToolResult) => FieldValue::Invalid(INVALID_RESULT_TYPE),
            (None, BlockPlace::Message) => FieldValue::Invalid(INVALID_BLOCK_TYPE),
        }
    }
}
