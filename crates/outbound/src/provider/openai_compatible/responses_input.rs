//! The input items of a Responses request.

use std::mem;

use domain::params::ChatParams;
use domain::params::content::{
    ChatMessage, ContentBlock, FileSource, MessageContent, SystemPrompt,
};
use domain::thinking_signature::{SignatureKind, ThinkingSignature};
use serde_json::{Value, json};

use super::request_context::RequestContext;
use super::tool_results;
use crate::provider::media::{MediaFile, UnsupportedItem};
use crate::provider::request_fields::present_fields;

const ASSISTANT: &str = "assistant";

/// Whether the system prompt is an item: only parts of items can have a cache breakpoint.
pub(super) fn is_system_item(system: &SystemPrompt, target: &RequestContext<'_>) -> bool {
    target.sends_cache_marks() && system.is_cached()
}

pub(super) fn encode(
    chat: &ChatParams,
    target: &RequestContext<'_>,
) -> Result<Vec<Value>, UnsupportedItem> {
    let mut items = Vec::with_capacity(chat.messages.len() + 1);
    let system = chat.system.as_ref();
    if let Some(system) = system.filter(|system| is_system_item(system, target)) {
        let parts = system
            .blocks()
            .iter()
            .map(|block| target.mark(input_text(block.text()), block.cache_control()));
        items.push(message("developer", Value::Array(parts.collect())));
    }
    for turn in &chat.messages {
        encode_turn(turn, target, &mut items)?;
    }
    if chat.cache_control.is_some() && target.sends_cache_marks() {
        mark_end(chat, target, &mut items);
    }
    Ok(items)
}

/// A breakpoint after the last part, if the last item is input.
fn mark_end(chat: &ChatParams, target: &RequestContext<'_>, items: &mut [Value]) {
    let Some(item) = items.last_mut() else { return };
    let is_assistant = item.get("role").is_some_and(|role| role == ASSISTANT);
    let is_result = item.get("output").is_some();
    let content = item.get_mut(if is_result { "output" } else { "content" });
    let Some(content) = content.filter(|_| !is_assistant) else {
        return;
    };
    if let Some(part) = content.as_str().map(input_text) {
        *content = json!([part]);
    }
    if let Some(last) = content.as_array_mut().and_then(|parts| parts.last_mut()) {
        *last = target.mark(last.take(), chat.cache_control);
    }
}

fn encode_turn(
    turn: &ChatMessage,
    target: &RequestContext<'_>,
    items: &mut Vec<Value>,
) -> Result<(), UnsupportedItem> {
    let blocks = match &turn.content {
        MessageContent::Text(text) => {
            items.push(message(&turn.role, json!(text)));
            return Ok(());
        }
        MessageContent::Blocks(blocks) => blocks,
    };
    let mut writer = TurnWriter {
        role: &turn.role,
        items,
        parts: Vec::new(),
        thoughts: Vec::new(),
    };
    for block in blocks {
        match block {
            // An output_text part needs the id and the status of the answer. A plain text does not.
            ContentBlock::Text { text, .. } if turn.role == ASSISTANT => {
                writer.push_item(message(ASSISTANT, json!(text)));
            }
            ContentBlock::ToolUse {
                id, name, input, ..
            } => {
                let arguments = json!(input).to_string();
                writer.push_item(json!({
                    "type": "function_call", "call_id": id, "name": name, "arguments": arguments,
                }));
            }
            ContentBlock::ToolResult { tool_use_id, .. } => {
                let output = tool_results::encode(block, target, input_text, part)?;
                writer.push_item(json!({
                    "type": "function_call_output", "call_id": tool_use_id, "output": output,
                }));
            }
            ContentBlock::Thinking {
                thinking,
                signature,
            } => writer.thoughts.extend(reasoning(thinking, signature)),
            ContentBlock::Text { .. }
            | ContentBlock::Image { .. }
            | ContentBlock::Document { .. }
            | ContentBlock::Video { .. }
            | ContentBlock::RedactedThinking { .. } => {
                if let Some(part) = part(block, target)? {
                    writer.push_part(part);
                }
            }
        }
    }
    writer.flush_parts();
    Ok(())
}

/// Writes the blocks of a turn as items, in their order.
struct TurnWriter<'a> {
    role: &'a str,
    items: &'a mut Vec<Value>,
    /// Parts of the next message item.
    parts: Vec<Value>,
    /// Thoughts before the next item. The API refuses thoughts that no item follows, so those at
    /// the end of a turn are left out.
    thoughts: Vec<Value>,
}

impl TurnWriter<'_> {
    fn push_item(&mut self, item: Value) {
        self.flush_parts();
        self.items.append(&mut self.thoughts);
        self.items.push(item);
    }

    fn push_part(&mut self, part: Value) {
        if !self.thoughts.is_empty() {
            self.flush_parts();
            self.items.append(&mut self.thoughts);
        }
        self.parts.push(part);
    }

    fn flush_parts(&mut self) {
        if !self.parts.is_empty() {
            let parts = mem::take(&mut self.parts);
            self.items.push(message(self.role, Value::Array(parts)));
        }
    }
}

/// The thoughts as `OpenAI` returned them; None if they are of another provider.
fn reasoning(thinking: &str, signature: &str) -> Option<Value> {
    let signature = ThinkingSignature::text_for(signature, SignatureKind::OpenAi)?;
    if signature.text.is_empty() {
        return None;
    }
    let summary = Some(thinking).filter(|text| !text.is_empty());
    let summary = summary.map(|text| json!({"type": "summary_text", "text": text}));
    let summary: Vec<Value> = summary.into_iter().collect();
    Some(Value::Object(present_fields([
        ("type", Some(json!("reasoning"))),
        ("id", signature.item.map(|id| json!(id))),
        ("summary", Some(Value::Array(summary))),
        ("encrypted_content", Some(json!(signature.text))),
    ])))
}

/// A part of a message; None for blocks that are items or are not sent.
fn part(
    block: &ContentBlock,
    target: &RequestContext<'_>,
) -> Result<Option<Value>, UnsupportedItem> {
    let part = match block {
        ContentBlock::Text { text, .. } => input_text(text),
        ContentBlock::Image { source, .. } => {
            let url = MediaFile::find(source, target.media)?.url()?;
            json!({"type": "input_image", "image_url": url, "detail": "auto"})
        }
        ContentBlock::Document { source, .. } => document_part(source, target)?,
        ContentBlock::Video { .. } => {
            return Err(UnsupportedItem::new("the model does not support video"));
        }
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
        return Ok(input_text(&file.text()?));
    }
    let data = format!("data:application/pdf;base64,{}", file.base64()?);
    let name = format!("{}.pdf", file.file);
    Ok(json!({"type": "input_file", "filename": name, "file_data": data}))
}

fn message(role: &str, content: Value) -> Value {
    Value::Object(present_fields([
        ("type", Some(json!("message"))),
        ("role", Some(json!(role))),
        ("content", Some(content)),
    ]))
}

fn input_text(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}
