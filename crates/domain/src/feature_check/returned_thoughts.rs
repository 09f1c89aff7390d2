//! Thoughts that the caller has to send back: with a thinking budget, Anthropic refuses a loop of
//! tools that does not start with them.

use crate::features::{Features, SchemaDialect};
use crate::field_refusal::{FieldPath, RefusalList};
use crate::params::ChatParams;
use crate::params::content::{ChatMessage, ContentBlock};
use crate::params::thinking::Thinking;
use crate::thinking_signature::{SignatureKind, ThinkingSignature};

pub(super) fn check(chat: &ChatParams, features: &Features, refusals: &mut RefusalList) {
    let has_budget = matches!(chat.thinking, Some(Thinking::Enabled { .. }));
    if !has_budget || !features.schema_dialects.contains(&SchemaDialect::Anthropic) {
        return;
    }
    let Some((index, first)) = start_of_loop(&chat.messages) else {
        return;
    };
    if !starts_with_thought(first) {
        let message = "With a thinking budget, the first message of a loop of tools must start \
                       with the thinking block that this model returned. Send the block back \
                       unchanged, or leave thinking out.";
        let messages = FieldPath::PARAMS.key("messages");
        let message_place = messages.index(index);
        refusals.add(message_place.key("content").index(0), message);
    }
}

/// The message of the assistant with the first calls, if the last message has results. All calls
/// and results since then are one turn: the model may have thought only at its start.
fn start_of_loop(messages: &[ChatMessage]) -> Option<(usize, &ChatMessage)> {
    let is_call = |it: &ContentBlock| matches!(it, ContentBlock::ToolUse { .. });
    let is_result = |it: &ContentBlock| matches!(it, ContentBlock::ToolResult { .. });
    let mut start = None;
    let mut rest = messages;
    while let [earlier @ .., calls, results] = rest
        && calls.content.blocks().iter().any(is_call)
        && results.content.blocks().iter().any(is_result)
    {
        start = Some((earlier.len(), calls));
        rest = earlier;
    }
    start
}

fn starts_with_thought(message: &ChatMessage) -> bool {
    let mut blocks = message.content.blocks().iter();
    blocks.find_map(is_sent_as_thought) == Some(true)
}

/// None if the encoder leaves the block out: it is blank, or a thought of another provider.
fn is_sent_as_thought(block: &ContentBlock) -> Option<bool> {
    match block {
        ContentBlock::Thinking { signature, .. } => {
            ThinkingSignature::text_for(signature, SignatureKind::Anthropic).map(|_| true)
        }
        ContentBlock::RedactedThinking { data } => {
            ThinkingSignature::redacted_for(data, SignatureKind::Anthropic).map(|_| true)
        }
        ContentBlock::Text { text, .. } => (!text.trim().is_empty()).then_some(false),
        ContentBlock::Image { .. }
        | ContentBlock::Document { .. }
        | ContentBlock::Video { .. }
        | ContentBlock::ToolUse { .. }
        | ContentBlock::ToolResult { .. } => Some(false),
    }
}
