//! Chat: the last user message, said back, with every limit of the request kept.

use std::borrow::Cow;

use domain::id::CargoId;
use domain::model::Model;
use domain::outcome::{ChatCompletion, Completion, StopReason, Text, Usage};
use domain::params::Chat;

use super::directives::Asked;
use super::tokens;

/// Words of one token each.
const FILLER: [&str; 8] = [
    "ship", "dock", "load", "tide", "crew", "bell", "rope", "hull",
];

/// The text of the last user message, its blocks in lines.
pub(super) fn last_said(chat: &Chat) -> Cow<'_, str> {
    let last = chat.messages.iter().rfind(|message| message.role == "user");
    let mut texts = last.into_iter().flat_map(|message| message.content.texts());
    let mut said = Cow::Borrowed(texts.next().unwrap_or_default());
    for text in texts {
        let said = said.to_mut();
        said.push('\n');
        said.push_str(text);
    }
    said
}

pub(super) fn complete(
    cargo: CargoId,
    model: &Model,
    chat: &Chat,
    said: String,
    asked: &Asked,
) -> Completion {
    let mut text = match asked.tokens {
        // One beyond the limit is enough to see that it was cut.
        Some(count) => filler(count.min(chat.max_tokens.saturating_add(1))),
        None => said,
    };
    let mut stop_reason = StopReason::EndTurn;
    if let Some(at) = first_stop(&text, &chat.stop_sequences) {
        text.truncate(at);
        stop_reason = StopReason::StopSequence;
    }
    if let Some(length) = tokens::cut(&text, chat.max_tokens).map(str::len) {
        text.truncate(length);
        stop_reason = StopReason::MaxTokens;
    }
    let usage = Usage {
        input_tokens: input_tokens(chat),
        output_tokens: tokens::count(&text),
    };
    Completion::Chat(ChatCompletion {
        id: format!("msg_{}", cargo.uuid().simple()),
        kind: "message".to_owned(),
        role: "assistant".to_owned(),
        content: vec![Text::of(text)],
        model: model.id.clone(),
        stop_reason: asked.stop.unwrap_or(stop_reason),
        usage,
    })
}

fn first_stop(text: &str, sequences: &[String]) -> Option<usize> {
    let sequences = sequences.iter().filter(|sequence| !sequence.is_empty());
    sequences
        .filter_map(|sequence| text.find(sequence.as_str()))
        .min()
}

fn input_tokens(chat: &Chat) -> u64 {
    let system = chat.system.as_deref().into_iter();
    let texts = chat
        .messages
        .iter()
        .flat_map(|message| message.content.texts());
    system.chain(texts).map(tokens::count).sum()
}

fn filler(count: u32) -> String {
    let mut text = String::new();
    for (word, _) in FILLER.iter().cycle().zip(0..count) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}
