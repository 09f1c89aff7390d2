//! Anthropic's messages and their blocks.

use serde_json::Value;

use super::anthropic_features::check_object;
use super::{list, part_text, text_field, texts};
use crate::invalid_request::InvalidRequest;
use crate::model_rules::AnthropicRules;
use crate::prompt::{CacheLifetime, PromptText, mentions};
use crate::signature;

pub(super) fn check_conversation(
    rules: &AnthropicRules,
    params: &Value,
    messages: &[Value],
) -> Result<(), InvalidRequest> {
    for (index, message) in messages.iter().enumerate() {
        let role = text_field(message, "role");
        if !matches!(role, Some("user" | "assistant")) {
            return Err(
                format!("messages.{index}.role: Input should be 'user' or 'assistant'").into(),
            );
        }
        check_object(message, &["role", "content"], &format!("messages.{index}"))?;
        check_blocks(message, role == Some("assistant"), index)?;
        check_tool_results(
            message,
            index.checked_sub(1).and_then(|it| messages.get(it)),
            index,
        )?;
        check_calls_answered(message, messages.get(index + 1), index)?;
    }
    let last = messages.last().and_then(|it| text_field(it, "role"));
    if last == Some("assistant") {
        if !rules.takes_prefill {
            return Err("This model does not support assistant message prefill. The conversation must end with a user message.".into());
        }
        if params.pointer("/output_config/format").is_some() {
            return Err(
                "Prefilling assistant messages is not supported with structured outputs.".into(),
            );
        }
    }
    check_thinking_returned(params, messages)
}

/// The known fields of every block, and the signatures of thoughts.
fn check_blocks(message: &Value, is_assistant: bool, index: usize) -> Result<(), InvalidRequest> {
    for (block_index, block) in list(message.get("content")).iter().enumerate() {
        let path = format!("messages.{index}.content.{block_index}");
        let kind = text_field(block, "type").unwrap_or_default();
        let known: &[&str] = match kind {
            "text" => &["type", "text", "cache_control", "citations"],
            "image" => &["type", "source", "cache_control"],
            "document" => &[
                "type",
                "source",
                "title",
                "context",
                "citations",
                "cache_control",
            ],
            "tool_use" if is_assistant => &["type", "id", "name", "input", "cache_control"],
            "tool_result" if !is_assistant => &[
                "type",
                "tool_use_id",
                "content",
                "is_error",
                "cache_control",
            ],
            "thinking" if is_assistant => &["type", "thinking", "signature"],
            "redacted_thinking" if is_assistant => &["type", "data"],
            _ => {
                return Err(format!(
                    "{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
                )
                .into());
            }
        };
        check_object(block, known, &format!("{path}.{kind}"))?;
        if kind == "text" && text_field(block, "text").is_none_or(str::is_empty) {
            return Err(format!("{path}.text: text content blocks must be non-empty").into());
        }
        if kind == "tool_use" && !block.get("input").is_some_and(Value::is_object) {
            return Err(
                format!("{path}.tool_use.input: Input should be a valid dictionary").into(),
            );
        }
        if kind == "thinking" {
            check_signature(block, &path)?;
        }
    }
    Ok(())
}

fn check_signature(block: &Value, path: &str) -> Result<(), InvalidRequest> {
    let text = text_field(block, "thinking").unwrap_or_default();
    match text_field(block, "signature") {
        None => Err(format!("{path}.thinking.signature: Field required").into()),
        Some(signature) if signature::is_valid(signature, text) => Ok(()),
        Some(_) => Err(format!("{path}: Invalid `signature` in `thinking` block").into()),
    }
}

fn ids<'a>(message: &'a Value, kind: &str, name: &str) -> Vec<&'a str> {
    let blocks = list(message.get("content")).iter();
    let blocks = blocks.filter(|block| text_field(block, "type") == Some(kind));
    blocks.filter_map(|block| text_field(block, name)).collect()
}

/// Results come first in their message, and answer calls of the message before.
fn check_tool_results(
    message: &Value,
    previous: Option<&Value>,
    index: usize,
) -> Result<(), InvalidRequest> {
    let calls = previous
        .map(|it| ids(it, "tool_use", "id"))
        .unwrap_or_default();
    let unexpected = ids(message, "tool_result", "tool_use_id")
        .into_iter()
        .find(|id| !calls.contains(id));
    match unexpected {
        Some(id) => Err(format!(
            "messages.{index}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
        )
        .into()),
        None => Ok(()),
    }
}

/// Every call is answered in the next message, before any other block.
fn check_calls_answered(
    message: &Value,
    next: Option<&Value>,
    index: usize,
) -> Result<(), InvalidRequest> {
    let calls = ids(message, "tool_use", "id");
    let Some(next) = next.filter(|_| !calls.is_empty()) else {
        return match calls.first() {
            Some(id) => Err(unanswered(index, id)),
            None => Ok(()),
        };
    };
    let blocks = list(next.get("content")).iter();
    let first: Vec<&str> = blocks
        .take_while(|block| text_field(block, "type") == Some("tool_result"))
        .filter_map(|block| text_field(block, "tool_use_id"))
        .collect();
    match calls.into_iter().find(|id| !first.contains(id)) {
        Some(id) => Err(unanswered(index, id)),
        None => Ok(()),
    }
}

fn unanswered(index: usize, id: &str) -> InvalidRequest {
    format!(
        "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )
    .into()
}

/// With a thinking budget, the turn that called tools starts with its thoughts. All calls and
/// results up to the last message are one turn.
fn check_thinking_returned(params: &Value, messages: &[Value]) -> Result<(), InvalidRequest> {
    let kind = params.pointer("/thinking/type").and_then(Value::as_str);
    if kind != Some("enabled") {
        return Ok(());
    }
    let mut start = None;
    let mut rest = messages;
    while let [earlier @ .., calls, results] = rest
        && !ids(calls, "tool_use", "id").is_empty()
        && !ids(results, "tool_result", "tool_use_id").is_empty()
    {
        start = Some((earlier.len(), calls));
        rest = earlier;
    }
    let Some((index, message)) = start else {
        return Ok(());
    };
    let first = list(message.get("content")).first();
    let first = first.and_then(|it| text_field(it, "type"));
    let first = first.unwrap_or_default();
    if !matches!(first, "thinking" | "redacted_thinking") {
        return Err(format!(
            "messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
        )
        .into());
    }
    Ok(())
}

/// The text in the order of the cache: tools, system, messages.
pub(super) fn read_prompt(
    rules: &AnthropicRules,
    params: &Value,
    messages: &[Value],
) -> PromptText {
    let has_marks = ["tools", "system", "messages"].iter().any(|name| {
        params
            .get(*name)
            .is_some_and(|it| mentions(it, "cache_control"))
    });
    let of_request = params.get("cache_control").filter(|it| !it.is_null());
    let mut prompt = if has_marks || of_request.is_some() {
        PromptText::with_marks("", rules.min_cache_tokens)
    } else {
        PromptText::default()
    };
    for tool in list(params.get("tools")) {
        prompt.add_json(tool);
        add_mark(&mut prompt, tool);
    }
    add_content(&mut prompt, params.get("system"));
    for message in messages {
        add_content(&mut prompt, message.get("content"));
    }
    if let Some(mark) = of_request {
        prompt.mark(lifetime(mark));
    }
    prompt
}

fn add_content(prompt: &mut PromptText, content: Option<&Value>) {
    let Some(Value::Array(blocks)) = content else {
        prompt.add_all(&texts(content.unwrap_or(&Value::Null)));
        return;
    };
    for block in blocks {
        match text_field(block, "type") {
            Some("tool_use") => {
                prompt.add(text_field(block, "name").unwrap_or_default());
                prompt.add_json(block.get("input").unwrap_or(&Value::Null));
            }
            Some("tool_result") => add_content(prompt, block.get("content")),
            Some("thinking") => {
                prompt.add(text_field(block, "thinking").unwrap_or_default());
                prompt.add(text_field(block, "signature").unwrap_or_default());
            }
            Some(_) | None => prompt.add(part_text(block).unwrap_or_default()),
        }
        add_mark(prompt, block);
    }
}

fn add_mark(prompt: &mut PromptText, block: &Value) {
    if let Some(mark) = block.get("cache_control").filter(|it| !it.is_null()) {
        prompt.mark(lifetime(mark));
    }
}

fn lifetime(mark: &Value) -> CacheLifetime {
    if text_field(mark, "ttl") == Some("1h") {
        CacheLifetime::OneHour
    } else {
        CacheLifetime::FiveMinutes
    }
}

/// The last user message: its tool results, then its texts.
pub(super) fn last_user_text(messages: &[Value]) -> String {
    let mut messages = messages.iter().rev();
    let last = messages.find(|it| text_field(it, "role") == Some("user"));
    let content = last.and_then(|it| it.get("content"));
    let Some(Value::Array(blocks)) = content else {
        return texts(content.unwrap_or(&Value::Null)).join("\n");
    };
    let mut all = Vec::new();
    for block in blocks {
        match text_field(block, "type") {
            Some("tool_result") => all.extend(texts(block.get("content").unwrap_or(&Value::Null))),
            Some(_) | None => all.extend(part_text(block)),
        }
    }
    all.join("\n")
}
