//! Fields of every chat: messages, stop sequences, the length of the answer and the seed.

use crate::feature_check::Findings;
use crate::features::Features;
use crate::field_refusal::FieldPath;
use crate::load_warning::WarningCode;
use crate::params::ChatParams;

pub(super) fn check(chat: &ChatParams, features: &Features, findings: &mut Findings) {
    check_roles(chat, features, findings);
    check_stop_sequences(chat, features, findings);
    if chat.max_tokens < features.min_output {
        let least = features.min_output;
        let message = format!("max_tokens is raised to {least}, the least that the model takes.");
        findings.warn("max_tokens", WarningCode::Emulated, message);
    }
    if chat.seed.is_some() && !features.seed {
        let message = "The model does not take a seed. Leave it out, or choose another model.";
        let place = FieldPath::PARAMS.key("seed");
        findings.refusals.add_missing("seed", place, message);
    }
}

fn check_roles(chat: &ChatParams, features: &Features, findings: &mut Findings) {
    let messages = FieldPath::PARAMS.key("messages");
    if !features.system_messages {
        for (index, message) in chat.messages.iter().enumerate() {
            if matches!(message.role.as_str(), "system" | "developer") {
                let text = "The model takes no messages of this role. Use the field system.";
                let place = messages.index(index);
                let refusals = &mut findings.refusals;
                refusals.add_missing("system_messages", place.key("role"), text);
            }
        }
    }
    let is_prefilled = chat
        .messages
        .last()
        .is_some_and(|message| message.role == "assistant");
    if is_prefilled && !features.prefill {
        let message = "The model cannot continue a message of the assistant. Let the last message \
                       be the user's.";
        let last = messages.index(chat.messages.len() - 1);
        findings.refusals.add_missing("prefill", last, message);
    }
}

/// The same condition as in the shape of the response: Longshore applies all stop sequences, or none.
fn check_stop_sequences(chat: &ChatParams, features: &Features, findings: &mut Findings) {
    let most = features.max_stop_sequences;
    let is_exceeded = u32::try_from(chat.stop_sequences.len()).is_ok_and(|count| count > most);
    if is_exceeded {
        let message = format!(
            "The model takes at most {most} stop sequences, so Longshore cuts the answer at the \
             first one. Tokens after it are charged."
        );
        findings.warn("stop_sequences", WarningCode::Emulated, message);
    }
}
