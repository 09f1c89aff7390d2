//! Results of tools for APIs that have no field for an error.

use domain::params::content::{ContentBlock, ToolResultContent};
use serde_json::{Value, json};

use super::request_context::RequestContext;
use crate::provider::media::UnsupportedItem;

const ERROR_PREFIX: &str = "Error: ";

/// Makes a part of a message; None for blocks that are not sent as parts.
type EncodePart = fn(&ContentBlock, &RequestContext<'_>) -> Result<Option<Value>, UnsupportedItem>;

/// A result as a text, or as parts if it contains files or ends in a cache breakpoint. The two
/// functions write the parts of the API.
pub(super) fn encode(
    block: &ContentBlock,
    target: &RequestContext<'_>,
    text_part: fn(&str) -> Value,
    part: EncodePart,
) -> Result<Value, UnsupportedItem> {
    let ContentBlock::ToolResult {
        content,
        is_error,
        cache_control,
        ..
    } = block
    else {
        return Ok(Value::Null);
    };
    let (content, is_error) = (content.as_ref(), *is_error);
    let inside = || block.nested().iter().find_map(ContentBlock::cache_control);
    let mark = cache_control.or_else(inside);
    if let Some(text) = as_text(content, is_error) {
        if mark.is_some() && target.sends_cache_marks() {
            return Ok(json!([target.mark(text_part(&text), mark)]));
        }
        return Ok(json!(text));
    }
    let mut parts = Vec::new();
    for block in as_blocks(content, is_error) {
        parts.extend(part(&block, target)?);
    }
    Ok(Value::Array(parts))
}

/// The result as one text; None if it contains files.
fn as_text(content: Option<&ToolResultContent>, is_error: bool) -> Option<String> {
    let text = match content {
        None => String::new(),
        Some(ToolResultContent::Text(text)) => text.clone(),
        Some(ToolResultContent::Blocks(blocks)) => {
            let texts: Option<Vec<&str>> = blocks.iter().map(ContentBlock::text).collect();
            texts?.join("\n")
        }
    };
    Some(if is_error {
        format!("{ERROR_PREFIX}{text}")
    } else {
        text
    })
}

/// The blocks of a result with files. An error begins with a text that says it.
fn as_blocks(
    content: Option<&ToolResultContent>,
    is_error: bool,
) -> impl Iterator<Item = ContentBlock> {
    let prefix = is_error.then(|| ContentBlock::plain_text(ERROR_PREFIX.trim_end().to_owned()));
    let blocks = content.map(ToolResultContent::blocks).unwrap_or_default();
    prefix.into_iter().chain(blocks.iter().cloned())
}
