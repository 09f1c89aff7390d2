//! Calls of tools and their results: each call is answered by one result, at the start of the next
//! message.

use std::collections::HashSet;

use crate::field_refusal::{FieldPath, RefusalList};
use crate::params::ChatParams;
use crate::params::content::{ChatMessage, ContentBlock};

pub(super) fn check(chat: &ChatParams, refusals: &mut RefusalList) {
    let names = check_tool_names(chat, refusals);
    let has_tool_blocks = chat.blocks().any(|block| {
        matches!(
            block,
            ContentBlock::ToolUse { .. } | ContentBlock::ToolResult { .. }
        )
    });
    if !has_tool_blocks {
        return;
    }
    if chat.tools.is_empty() {
        let message = "tools is required when messages contain tool_use or tool_result blocks";
        refusals.add(FieldPath::PARAMS.key("tools"), message);
    }
    let messages = FieldPath::PARAMS.key("messages");
    let mut earlier_ids = HashSet::new();
    let mut open_calls = HashSet::new();
    for (index, message) in chat.messages.iter().enumerate() {
        let place = messages.index(index);
        check_results(message, place, &open_calls, refusals);
        let results = result_ids(chat.messages.get(index + 1));
        open_calls = check_calls(message, place, &results, refusals);
        check_names(message, place, &names, &mut earlier_ids, refusals);
    }
}

/// The names of the tools. A name that occurs twice is refused.
fn check_tool_names<'a>(chat: &'a ChatParams, refusals: &mut RefusalList) -> HashSet<&'a str> {
    let tools = FieldPath::PARAMS.key("tools");
    let mut names = HashSet::new();
    for (index, tool) in chat.tools.iter().enumerate() {
        if !names.insert(tool.name.as_str()) {
            let message = "Another tool has the same name";
            refusals.add(tools.index(index).key("name"), message);
        }
    }
    names
}

/// The calls that a message answers.
fn result_ids(message: Option<&ChatMessage>) -> HashSet<&str> {
    let blocks = message.map(|message| message.content.blocks());
    let ids = blocks
        .unwrap_or_default()
        .iter()
        .filter_map(|block| match block {
            ContentBlock::ToolResult { tool_use_id, .. } => Some(tool_use_id.as_str()),
            ContentBlock::Text { .. }
            | ContentBlock::Image { .. }
            | ContentBlock::Document { .. }
            | ContentBlock::Video { .. }
            | ContentBlock::ToolUse { .. }
            | ContentBlock::Thinking { .. }
            | ContentBlock::RedactedThinking { .. } => None,
        });
    ids.collect()
}

/// Every result comes first in its message, and answers a call of the message before.
fn check_results(
    message: &ChatMessage,
    place: FieldPath<'_>,
    open_calls: &HashSet<&str>,
    refusals: &mut RefusalList,
) {
    let content = place.key("content");
    let mut answered = HashSet::new();
    let mut is_after_other = false;
    for (index, block) in message.content.blocks().iter().enumerate() {
        let ContentBlock::ToolResult { tool_use_id, .. } = block else {
            is_after_other = true;
            continue;
        };
        let block_place = content.index(index);
        if is_after_other {
            let message = "tool_result blocks must come before all other blocks of their message";
            refusals.add(block_place, message);
        }
        let id_place = block_place.key("tool_use_id");
        if !open_calls.contains(tool_use_id.as_str()) {
            let message = "The message before has no tool_use block with this id";
            refusals.add(id_place, message);
        } else if !answered.insert(tool_use_id.as_str()) {
            refusals.add(id_place, "Another tool_result answers the same tool_use");
        }
    }
}

/// The calls of a message. Each has to be answered in the next message.
fn check_calls<'a>(
    message: &'a ChatMessage,
    place: FieldPath<'_>,
    results: &HashSet<&str>,
    refusals: &mut RefusalList,
) -> HashSet<&'a str> {
    let content = place.key("content");
    let mut calls = HashSet::new();
    for (index, block) in message.content.blocks().iter().enumerate() {
        let ContentBlock::ToolUse { id, .. } = block else {
            continue;
        };
        calls.insert(id.as_str());
        if !results.contains(id.as_str()) {
            let message = "The next message must contain the tool_result of this tool_use";
            refusals.add(content.index(index).key("id"), message);
        }
    }
    calls
}

/// Calls have different ids in the whole conversation, and names of known tools.
fn check_names<'a>(
    message: &'a ChatMessage,
    place: FieldPath<'_>,
    names: &HashSet<&str>,
    earlier_ids: &mut HashSet<&'a str>,
    refusals: &mut RefusalList,
) {
    let content = place.key("content");
    for (index, block) in message.content.blocks().iter().enumerate() {
        let ContentBlock::ToolUse { id, name, .. } = block else {
            continue;
        };
        let block_place = content.index(index);
        if !earlier_ids.insert(id.as_str()) {
            let message = "Another tool_use block has the same id";
            refusals.add(block_place.key("id"), message);
        }
        if !names.is_empty() && !names.contains(name.as_str()) {
            refusals.add(block_place.key("name"), "tools has no tool of this name");
        }
    }
}
