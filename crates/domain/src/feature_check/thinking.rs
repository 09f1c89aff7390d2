//! How a model may be told to think.

use crate::effort::Effort;
use crate::features::ThinkingSupport;
use crate::field_refusal::{FieldPath, RefusalList};
use crate::params::ChatParams;
use crate::params::thinking::{Thinking, ThinkingDisplay};

pub(super) fn check(chat: &ChatParams, support: &ThinkingSupport, refusals: &mut RefusalList) {
    if let Some(thinking) = chat.thinking {
        check_type(thinking, support, refusals);
        check_display(thinking, support, refusals);
    }
    if let Some(effort) = chat.output_config.as_ref().and_then(|it| it.effort) {
        check_effort(effort, support, refusals);
    }
}

fn check_type(thinking: Thinking, support: &ThinkingSupport, refusals: &mut RefusalList) {
    let place = FieldPath::PARAMS.key("thinking");
    let message = match thinking {
        Thinking::Disabled if !support.disabled => {
            "Thinking of this model cannot be turned off. Leave thinking out."
        }
        Thinking::Adaptive { .. } if !support.adaptive => {
            "The model does not take thinking of type adaptive."
        }
        Thinking::Enabled { budget_tokens, .. } => {
            check_budget(budget_tokens, support, refusals);
            return;
        }
        Thinking::Disabled | Thinking::Adaptive { .. } => return,
    };
    refusals.add_missing("thinking", place.key("type"), message);
}

fn check_budget(budget_tokens: u32, support: &ThinkingSupport, refusals: &mut RefusalList) {
    let place = FieldPath::PARAMS.key("thinking");
    match support.budget {
        None => {
            let message = "The model does not take a budget for thinking. Use output_config.effort \
                           if the model has efforts.";
            refusals.add_missing("thinking_budget", place.key("type"), message);
        }
        Some((least, most)) if !(least..=most).contains(&budget_tokens) => {
            let message = format!("The model takes a budget_tokens from {least} to {most}.");
            refusals.add_missing("thinking_budget", place.key("budget_tokens"), message);
        }
        Some(_) => {}
    }
}

fn check_display(thinking: Thinking, support: &ThinkingSupport, refusals: &mut RefusalList) {
    match thinking.display() {
        Some(ThinkingDisplay::Summarized) if !support.summaries => {
            let message = "The model does not return its thoughts in readable form. Leave display \
                           out, or use omitted.";
            let place = FieldPath::PARAMS.key("thinking");
            refusals.add_missing("thinking_display", place.key("display"), message);
        }
        Some(ThinkingDisplay::Summarized | ThinkingDisplay::Omitted) | None => {}
    }
}

fn check_effort(effort: Effort, support: &ThinkingSupport, refusals: &mut RefusalList) {
    if support.efforts.contains(&effort) {
        return;
    }
    let message = if support.efforts.is_empty() {
        "The model has no efforts. Leave effort out.".to_owned()
    } else {
        let efforts = support.efforts.iter().map(|it| it.as_str());
        let names: Vec<&str> = efforts.collect();
        format!("The model takes these efforts: {}.", names.join(", "))
    };
    let output = FieldPath::PARAMS.key("output_config");
    refusals.add_missing("effort", output.key("effort"), message);
}
