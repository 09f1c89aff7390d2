//! Which block may be in whose message, and the blocks inside the result of a tool.

use crate::field_refusal::{FieldPath, RefusalList};
use crate::params::ChatParams;
use crate::params::content::ContentBlock;
use crate::thinking_signature::ThinkingSignature;

pub(super) fn check(chat: &ChatParams, refusals: &mut RefusalList) {
    let messages = FieldPath::PARAMS.key("messages");
    for (index, message) in chat.messages.iter().enumerate() {
        let message_place = messages.index(index);
        let content = message_place.key("content");
        for (index, block) in message.content.blocks().iter().enumerate() {
            let place = content.index(index);
            if let Some((kind, role)) = required_role(block)
                && message.role != role
            {
                let message = format!("A {kind} block must be in a message of the {role}");
                refusals.add(place, message);
            }
            check_signature(block, place, refusals);
            check_nested(block, place, refusals);
        }
    }
}

/// The kind of the block and the role of its message, if the kind belongs to one role.
const fn required_role(block: &ContentBlock) -> Option<(&'static str, &'static str)> {
    match block {
        ContentBlock::ToolUse { .. } => Some(("tool_use", "assistant")),
        ContentBlock::Thinking { .. } => Some(("thinking", "assistant")),
        ContentBlock::RedactedThinking { .. } => Some(("redacted_thinking", "assistant")),
        ContentBlock::ToolResult { .. } => Some(("tool_result", "user")),
        ContentBlock::Text { .. }
        | ContentBlock::Image { .. }
        | ContentBlock::Document { .. }
        | ContentBlock::Video { .. } => None,
    }
}

fn check_signature(block: &ContentBlock, place: FieldPath<'_>, refusals: &mut RefusalList) {
    let ContentBlock::Thinking { signature, .. } = block else {
        return;
    };
    if signature.parse::<ThinkingSignature>().is_err() {
        let message = "The signature is not one that Longshore returned: send thinking blocks back \
                       unchanged, or leave them out";
        refusals.add(place.key("signature"), message);
    }
}

fn check_nested(block: &ContentBlock, place: FieldPath<'_>, refusals: &mut RefusalList) {
    let content = place.key("content");
    for (index, inner) in block.nested().iter().enumerate() {
        let is_allowed = match inner {
            ContentBlock::Text { .. }
            | ContentBlock::Image { .. }
            | ContentBlock::Document { .. } => true,
            ContentBlock::Video { .. }
            | ContentBlock::ToolUse { .. }
            | ContentBlock::ToolResult { .. }
            | ContentBlock::Thinking { .. }
            | ContentBlock::RedactedThinking { .. } => false,
        };
        if !is_allowed {
            let message = "A tool_result may contain text, image and document blocks only";
            refusals.add(content.index(index), message);
        }
    }
}
