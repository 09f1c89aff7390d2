//! Results of tools for APIs that have no field for an error.

use domain::params::content::{ContentBlock, ToolResultContent};

const ERROR_PREFIX: &str = "Error: ";

/// The result as one text; None if it contains files.
pub(super) fn as_text(content: Option<&ToolResultContent>, is_error: bool) -> Option<String> {
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
pub(super) fn as_blocks(
    content: Option<&ToolResultContent>,
    is_error: bool,
) -> impl Iterator<Item = ContentBlock> {
    let prefix = is_error.then(|| ContentBlock::plain_text(ERROR_PREFIX.trim_end().to_owned()));
    let blocks = content.map(ToolResultContent::blocks).unwrap_or_default();
    prefix.into_iter().chain(blocks.iter().cloned())
}
