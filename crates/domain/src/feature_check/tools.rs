//! Tools, the choice of a tool, and files in results of tools.

use crate::features::{Features, ToolSupport};
use crate::field_refusal::{FieldPath, RefusalList};
use crate::params::ChatParams;
use crate::params::content::ContentBlock;

pub(super) fn check(chat: &ChatParams, features: &Features, refusals: &mut RefusalList) {
    if chat.tools.is_empty() {
        return;
    }
    let place = FieldPath::PARAMS.key("tools");
    if features.tools == ToolSupport::None {
        let message = "The model cannot call tools. Choose another model.";
        refusals.add_missing("tools", place, message);
        return;
    }
    if u32::try_from(chat.tools.len()).unwrap_or(u32::MAX) > features.max_tools {
        let most = features.max_tools;
        let message = format!("The model takes at most {most} tools.");
        refusals.add_missing("max_tools", place, message);
    }
    check_choice(chat, features, refusals);
    check_strict(chat, features, refusals);
    check_result_files(chat, features, refusals);
}

fn check_choice(chat: &ChatParams, features: &Features, refusals: &mut RefusalList) {
    let Some(choice) = &chat.tool_choice else {
        return;
    };
    let place = FieldPath::PARAMS.key("tool_choice");
    if choice.is_forced() && !features.forced_tools {
        let message = "The model cannot be forced to call a tool. Use tool_choice auto.";
        refusals.add_missing("forced_tools", place.key("type"), message);
    }
    if choice.disables_parallel_use() && features.tools != ToolSupport::Parallel {
        let message = "The model may call several tools at once, and this cannot be turned off.";
        let field = place.key("disable_parallel_tool_use");
        refusals.add_missing("disable_parallel_tool_use", field, message);
    }
}

fn check_strict(chat: &ChatParams, features: &Features, refusals: &mut RefusalList) {
    if features.strict_tools {
        return;
    }
    let tools = FieldPath::PARAMS.key("tools");
    for (index, tool) in chat.tools.iter().enumerate() {
        if tool.strict == Some(true) {
            let message = "The model does not enforce schemas of tools. Leave strict out.";
            refusals.add_missing("strict_tools", tools.index(index).key("strict"), message);
        }
    }
}

fn check_result_files(chat: &ChatParams, features: &Features, refusals: &mut RefusalList) {
    if features.tool_result_files {
        return;
    }
    let messages = FieldPath::PARAMS.key("messages");
    for (index, message) in chat.messages.iter().enumerate() {
        let message_place = messages.index(index);
        let content = message_place.key("content");
        for (index, block) in message.content.blocks().iter().enumerate() {
            let block_place = content.index(index);
            let result = block_place.key("content");
            for (index, inner) in block.nested().iter().enumerate() {
                if matches!(
                    inner,
                    ContentBlock::Image { .. } | ContentBlock::Document { .. }
                ) {
                    let message = "The model reads only text in a tool_result.";
                    refusals.add_missing("tool_result_files", result.index(index), message);
                }
            }
        }
    }
}
