//! Rules for a conversation that hold for every model: what may be combined, and how tools, thoughts
//! and cache marks are ordered.
//!
//! A provider would refuse the request for any of these, in a batch hours after the load.

mod block_places;
mod cache_marks;
mod tool_turns;

#[cfg(test)]
mod tests;

use crate::field_refusal::{FieldPath, FieldRefusal, RefusalList};
use crate::params::ChatParams;
use crate::params::thinking::Thinking;
use crate::params::tools::ToolChoice;

/// The smallest `budget_tokens` that a provider takes.
const MIN_THINKING_BUDGET: u32 = 1024;

/// Everything that is wrong with the conversation, whatever the model.
pub fn check(chat: &ChatParams) -> Vec<FieldRefusal> {
    let mut refusals = RefusalList::default();
    block_places::check(chat, &mut refusals);
    tool_turns::check(chat, &mut refusals);
    check_tool_choice(chat, &mut refusals);
    check_output(chat, &mut refusals);
    check_thinking(chat, &mut refusals);
    cache_marks::check(chat, &mut refusals);
    refusals.into_refusals()
}

fn check_tool_choice(chat: &ChatParams, refusals: &mut RefusalList) {
    let Some(choice) = &chat.tool_choice else {
        return;
    };
    let place = FieldPath::PARAMS.key("tool_choice");
    if chat.tools.is_empty() {
        refusals.add(place, "tool_choice requires tools");
        return;
    }
    let ToolChoice::Tool { name, .. } = choice else {
        return;
    };
    if !chat.tools.iter().any(|tool| tool.name == *name) {
        refusals.add(place.key("name"), "tools has no tool of this name");
    }
}

/// What would break the form of the answer.
fn check_output(chat: &ChatParams, refusals: &mut RefusalList) {
    if chat.output_format().is_none() {
        return;
    }
    if !chat.stop_sequences.is_empty() {
        let message = "stop_sequences and output_config.format cannot be combined: an answer that \
                       is cut is not valid JSON";
        refusals.add(FieldPath::PARAMS.key("stop_sequences"), message);
    }
    if let Some(last) = prefilled_message(chat) {
        let message = "The last message cannot be the assistant's with output_config.format: the \
                       rest of a begun answer is not valid JSON";
        refusals.add(FieldPath::PARAMS.key("messages").index(last), message);
    }
}

fn check_thinking(chat: &ChatParams, refusals: &mut RefusalList) {
    let place = FieldPath::PARAMS.key("thinking");
    let effort = chat.output_config.as_ref().and_then(|it| it.effort);
    match chat.thinking {
        None | Some(Thinking::Adaptive { .. }) => {}
        Some(Thinking::Disabled) => {
            if effort.is_some() {
                let message = "output_config.effort cannot be combined with disabled thinking";
                let output = FieldPath::PARAMS.key("output_config");
                refusals.add(output.key("effort"), message);
            }
        }
        Some(Thinking::Enabled { budget_tokens, .. }) => {
            check_budget(chat, budget_tokens, refusals);
            if chat.tool_choice.as_ref().is_some_and(ToolChoice::is_forced) {
                let message = "tool_choice cannot force a call while thinking is enabled with a \
                               budget: use thinking of type adaptive, or tool_choice auto";
                let choice = FieldPath::PARAMS.key("tool_choice");
                refusals.add(choice.key("type"), message);
            }
            if prefilled_message(chat).is_some() {
                let message = "thinking cannot be enabled with a budget when the last message is \
                               the assistant's";
                refusals.add(place.key("type"), message);
            }
        }
    }
}

fn check_budget(chat: &ChatParams, budget_tokens: u32, refusals: &mut RefusalList) {
    let thinking = FieldPath::PARAMS.key("thinking");
    let place = thinking.key("budget_tokens");
    if budget_tokens < MIN_THINKING_BUDGET {
        let message = format!("budget_tokens must be at least {MIN_THINKING_BUDGET}");
        refusals.add(place, message);
    } else if budget_tokens >= chat.max_tokens {
        let message = "budget_tokens must be less than max_tokens, which includes it";
        refusals.add(place, message);
    }
}

/// The index of the last message, if it begins the answer.
fn prefilled_message(chat: &ChatParams) -> Option<usize> {
    let last = chat.messages.last()?;
    (last.role == "assistant").then(|| chat.messages.len() - 1)
}
