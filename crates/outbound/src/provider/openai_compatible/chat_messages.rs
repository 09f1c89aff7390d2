//! The messages of a Chat Completions request.

use domain::params::ChatParams;
use domain::params::content::{
    ChatMessage, ContentBlock, FileSource, MessageContent, SystemPrompt,
};
use serde_json::{Map, Value, json};

use super::dialect::ServerDialect;
use super::request_context::RequestContext;
use super::tool_results;
use crate::provider::media::{MediaFile, UnsupportedItem};

pub(super) fn encode(
    chat: &ChatParams,
    target: &RequestContext<'_>,
) -> Result<Vec<Value>, UnsupportedItem> {
    let mut messages = Vec::with_capacity(chat.messages.len() + 1);
    if let Some(system) = &chat.system {
        messages.push(json!({"role": "system", "content": system_content(system, target)}));
    }
    for turn in &chat.messages {
        push_turn(turn, target, &mut messages)?;
    }
    if chat.cache_control.is_some() && target.sends_cache_marks() {
        mark_end(chat, target, &mut messages);
    }
    Ok(messages)
}

fn system_content(system: &SystemPrompt, target: &RequestContext<'_>) -> Value {
    if !(target.sends_cache_marks() && system.is_cached()) {
        return json!(system.joined());
    }
    let parts = system
        .blocks()
        .iter()
        .map(|block| target.mark(text_part(block.text()), block.cache_control()));
    Value::Array(parts.collect())
}

/// A breakpoint after the last part of the last message.
fn mark_end(chat: &ChatParams, target: &RequestContext<'_>, messages: &mut [Value]) {
    let content = messages.last_mut().and_then(|it| it.get_mut("content"));
    let Some(content) = content else { return };
    if let Some(part) = content.as_str().map(text_part) {
        *content = json!([part]);
    }
    if let Some(last) = content.as_array_mut().and_then(|parts| parts.last_mut()) {
        *last = target.mark(last.take(), chat.cache_control);
    }
}

/// One turn can become several messages: one for each result of a tool, then the rest.
fn push_turn(
    turn: &ChatMessage,
    target: &RequestContext<'_>,
    messages: &mut Vec<Value>,
) -> Result<(), UnsupportedItem> {
    let blocks = match &turn.content {
        MessageContent::Text(text) => {
            messages.push(json!({"role": turn.role, "content": text}));
            return Ok(());
        }
        MessageContent::Blocks(blocks) => blocks,
    };
    let (mut parts, mut calls) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            ContentBlock::ToolUse {
                id, name, input, ..
            } => calls.push(tool_call(id, name, input)),
            ContentBlock::ToolResult { tool_use_id, .. } => {
                let content = tool_result(block, target)?;
                messages
                    .push(json!({"role": "tool", "tool_call_id": tool_use_id, "content": content}));
            }
            ContentBlock::Text { .. }
            | ContentBlock::Image { .. }
            | ContentBlock::Document { .. }
            | ContentBlock::Video { .. }
            | ContentBlock::Thinking { .. }
            | ContentBlock::RedactedThinking { .. } => parts.extend(part(block, target)?),
        }
    }
    if !calls.is_empty() {
        let content = Some(parts).filter(|parts| !parts.is_empty());
        messages.push(json!({"role": turn.role, "content": content, "tool_calls": calls}));
    } else if !parts.is_empty() || blocks.is_empty() {
        messages.push(json!({"role": turn.role, "content": parts}));
    }
    Ok(())
}

fn tool_call(id: &str, name: &str, input: &Map<String, Value>) -> Value {
    let arguments = json!(input).to_string();
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// The content of a message with the role `tool`.
fn tool_result(
    block: &ContentBlock,
    target: &RequestContext<'_>,
) -> Result<Value, UnsupportedItem> {
    let has_files = block.nested().iter().any(|inner| inner.text().is_none());
    if has_files && !target.features().tool_result_files {
        return Err(UnsupportedItem::new(
            "the model does not support files in results of tools",
        ));
    }
    tool_results::encode(block, target, text_part, part)
}

/// A part of a message; None for blocks that are not sent as parts. The API takes no thoughts.
fn part(
    block: &ContentBlock,
    target: &RequestContext<'_>,
) -> Result<Option<Value>, UnsupportedItem> {
    let part = match block {
        ContentBlock::Text { text, .. } => text_part(text),
        ContentBlock::Image { source, .. } => {
            let url = MediaFile::find(source, target.media)?.url()?;
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        ContentBlock::Document { source, .. } => document_part(source, target)?,
        ContentBlock::Video { source, .. } => match target.dialect {
            ServerDialect::OpenAi | ServerDialect::Compatible => {
                return Err(UnsupportedItem::new("the model does not support video"));
            }
            ServerDialect::SelfHosted => {
                let url = MediaFile::find(source, target.media)?.url()?;
                json!({"type": "video_url", "video_url": {"url": url}})
            }
        },
        ContentBlock::ToolUse { .. }
        | ContentBlock::ToolResult { .. }
        | ContentBlock::Thinking { .. }
        | ContentBlock::RedactedThinking { .. } => return Ok(None),
    };
    Ok(Some(target.mark(part, block.cache_control())))
}

fn document_part(
    source: &FileSource,
    target: &RequestContext<'_>,
) -> Result<Value, UnsupportedItem> {
    let file = MediaFile::find(source, target.media)?;
    if !file.is_pdf() {
        return Ok(text_part(&file.text()?));
    }
    if target.dialect.is_self_hosted() {
        return Err(UnsupportedItem::new(
            "the model does not support PDF documents",
        ));
    }
    let data = format!("data:application/pdf;base64,{}", file.base64()?);
    let name = format!("{}.pdf", file.file);
    Ok(json!({"type": "file", "file": {"filename": name, "file_data": data}}))
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
