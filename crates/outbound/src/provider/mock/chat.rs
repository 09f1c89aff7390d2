//! Chat: echoes the last user message within all limits of the request. It never calls a tool.

use std::borrow::Cow;

use domain::id::CargoId;
use domain::model::Model;
use domain::outcome::{
    ChatCompletion, Completion, CompletionBlock, ReportedUsage, StopReason, TokenUsage,
};
use domain::params::ChatParams;
use domain::params::content::SystemPrompt;

use super::directives::MockDirectives;
use super::tokens;

/// Each word is one token.
const FILLER_WORDS: [&str; 8] = [
    "ship", "dock", "load", "tide", "sail", "bell", "rope", "hull",
];

/// The text of the last user message, one line per block.
pub(super) fn last_user_text(chat: &ChatParams) -> Cow<'_, str> {
    let last = chat.messages.iter().rfind(|message| message.role == "user");
    let mut texts = last.into_iter().flat_map(|message| message.content.texts());
    let mut joined = Cow::Borrowed(texts.next().unwrap_or_default());
    for text in texts {
        let joined = joined.to_mut();
        joined.push('\n');
        joined.push_str(text);
    }
    joined
}

pub(super) fn complete(
    cargo: CargoId,
    model: &Model,
    chat: &ChatParams,
    prompt: String,
    directives: &MockDirectives,
) -> Completion {
    let mut text = match directives.tokens {
        // One token more than the limit is enough to cause the cut.
        Some(count) => filler_text(count.min(chat.max_tokens.saturating_add(1))),
        None => prompt,
    };
    let mut stop_reason = StopReason::EndTurn;
    if let Some(at) = first_stop_sequence(&text, &chat.stop_sequences) {
        text.truncate(at);
        stop_reason = StopReason::StopSequence;
    }
    if let Some(length) = tokens::truncate(&text, chat.max_tokens).map(str::len) {
        text.truncate(length);
        stop_reason = StopReason::MaxTokens;
    }
    let usage = TokenUsage {
        input_tokens: input_tokens(chat),
        output_tokens: tokens::count(&text),
    };
    Completion::Chat(ChatCompletion {
        id: format!("msg_{}", cargo.uuid().simple()),
        kind: "message".to_owned(),
        role: "assistant".to_owned(),
        content: vec![CompletionBlock::plain_text(text)],
        model: model.id.clone(),
        stop_reason: directives.stop.unwrap_or(stop_reason),
        stop_sequence: None,
        stop_details: None,
        usage: ReportedUsage::plain(usage),
    })
}

fn first_stop_sequence(text: &str, sequences: &[String]) -> Option<usize> {
    let sequences = sequences.iter().filter(|sequence| !sequence.is_empty());
    sequences
        .filter_map(|sequence| text.find(sequence.as_str()))
        .min()
}

fn input_tokens(chat: &ChatParams) -> u64 {
    let system = chat.system.as_ref().map_or(0, |system| match system {
        SystemPrompt::Text(text) => tokens::count(text),
        SystemPrompt::Blocks(blocks) => {
            blocks.iter().map(|block| tokens::count(block.text())).sum()
        }
    });
    let texts = chat
        .messages
        .iter()
        .flat_map(|message| message.content.texts());
    system + texts.map(tokens::count).sum::<u64>()
}

fn filler_text(count: u32) -> String {
    let mut text = String::new();
    for (word, _) in FILLER_WORDS.iter().cycle().zip(0..count) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}
