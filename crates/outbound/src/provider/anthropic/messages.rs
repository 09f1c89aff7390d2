//! Encodes the messages of a chat with their content blocks.

use domain::features::PromptCaching;
use domain::params::cache_control::CacheControl;
use domain::params::content::{
    ChatMessage, ContentBlock, FileSource, MessageContent, ToolResultContent,
};
use domain::thinking_signature::{SignatureKind, ThinkingSignature};
use serde_json::{Value, json};

use crate::provider::media::{MediaFile, MediaSource, UnsupportedItem};
use crate::provider::request_fields::present_fields;

pub(super) fn encode(
    messages: &[ChatMessage],
    media: &dyn MediaSource,
    caching: PromptCaching,
) -> Result<Vec<Value>, UnsupportedItem> {
    let encoded = messages.iter().map(|it| message(it, media, caching));
    let encoded: Vec<Value> = encoded
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?;
    if encoded.is_empty() {
        return Err(UnsupportedItem::new("all messages are blank"));
    }
    Ok(encoded)
}

/// Anthropic refuses text without a visible character, wherever it is.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Adds the mark, if the model takes marks.
pub(super) fn with_cache_mark(
    mut part: Value,
    mark: Option<CacheControl>,
    caching: PromptCaching,
) -> Value {
    if let (Some(mark), PromptCaching::Marks, Value::Object(fields)) = (mark, caching, &mut part) {
        fields.insert("cache_control".to_owned(), json!(mark));
    }
    part
}

/// None if nothing is left of a message of the assistant: it was blank, or had only thoughts of
/// another provider. Without a message of the user, the request would be another one.
fn message(
    message: &ChatMessage,
    media: &dyn MediaSource,
    caching: PromptCaching,
) -> Result<Option<Value>, UnsupportedItem> {
    if !matches!(message.role.as_str(), "user" | "assistant") {
        return Err(UnsupportedItem::new(
            "a message's role must be user or assistant",
        ));
    }
    let content = match &message.content {
        MessageContent::Text(text) => (!is_blank(text)).then(|| json!(text)),
        MessageContent::Blocks(given) => {
            let encoded = blocks(given, media, caching)?;
            (!encoded.is_empty()).then_some(Value::Array(encoded))
        }
    };
    if content.is_none() && message.role == "user" {
        return Err(UnsupportedItem::new("a message of the user is blank"));
    }
    Ok(content.map(|content| json!({"role": message.role, "content": content})))
}

fn blocks(
    blocks: &[ContentBlock],
    media: &dyn MediaSource,
    caching: PromptCaching,
) -> Result<Vec<Value>, UnsupportedItem> {
    let encoded = blocks.iter().map(|it| block(it, media, caching));
    encoded.filter_map(Result::transpose).collect()
}

/// None for blank text, and for thoughts of another provider: Anthropic would ignore them, and bill
/// them.
fn block(
    block: &ContentBlock,
    media: &dyn MediaSource,
    caching: PromptCaching,
) -> Result<Option<Value>, UnsupportedItem> {
    let encoded = match block {
        ContentBlock::Text { text, .. } if is_blank(text) => return Ok(None),
        ContentBlock::Text { text, .. } => json!({"type": "text", "text": text}),
        ContentBlock::Image { source, .. } => {
            let source = link_or_bytes(&MediaFile::find(source, media)?)?;
            json!({"type": "image", "source": source})
        }
        ContentBlock::Document { source, .. } => document(source, media)?,
        ContentBlock::Video { .. } => {
            return Err(UnsupportedItem::new("the model does not support video"));
        }
        ContentBlock::ToolUse {
            id, name, input, ..
        } => json!({"type": "tool_use", "id": id, "name": name, "input": input}),
        ContentBlock::ToolResult {
            tool_use_id,
            content,
            is_error,
            ..
        } => {
            let content = match content {
                None => None,
                Some(ToolResultContent::Text(text)) => Some(json!(text)),
                Some(ToolResultContent::Blocks(inside)) => {
                    Some(Value::Array(blocks(inside, media, caching)?))
                }
            };
            tool_result(tool_use_id, content, *is_error)
        }
        ContentBlock::Thinking {
            thinking,
            signature,
        } => match ThinkingSignature::text_for(signature, SignatureKind::Anthropic) {
            Some(own) => json!({"type": "thinking", "thinking": thinking, "signature": own.text}),
            None => return Ok(None),
        },
        ContentBlock::RedactedThinking { data } => {
            match ThinkingSignature::redacted_for(data, SignatureKind::Anthropic) {
                Some(data) => json!({"type": "redacted_thinking", "data": data}),
                None => return Ok(None),
            }
        }
    };
    Ok(Some(with_cache_mark(
        encoded,
        block.cache_control(),
        caching,
    )))
}

/// Anthropic takes no `data:` URLs.
fn link_or_bytes(medium: &MediaFile<'_>) -> Result<Value, UnsupportedItem> {
    if let Some(url) = medium.link() {
        return Ok(json!({"type": "url", "url": url}));
    }
    let (media_type, data) = (medium.media_type.as_str(), medium.base64()?);
    Ok(json!({"type": "base64", "media_type": media_type, "data": data}))
}

fn document(source: &FileSource, media: &dyn MediaSource) -> Result<Value, UnsupportedItem> {
    let medium = MediaFile::find(source, media)?;
    let source = if medium.is_pdf() {
        link_or_bytes(&medium)?
    } else {
        // Anthropic takes Markdown and CSV as plain text.
        json!({"type": "text", "media_type": "text/plain", "data": medium.text()?})
    };
    Ok(json!({"type": "document", "source": source}))
}

fn tool_result(tool_use_id: &str, content: Option<Value>, is_error: bool) -> Value {
    Value::Object(present_fields([
        ("type", Some(json!("tool_result"))),
        ("tool_use_id", Some(json!(tool_use_id))),
        ("content", content),
        ("is_error", is_error.then_some(Value::Bool(true))),
    ]))
}
