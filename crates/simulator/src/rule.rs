//! The answer rule: an answer depends on its request alone, so a test can compute it.

use sha2::{Digest as _, Sha256};

mod directives;

pub use directives::{DirectedCall, Directives, UsageStyle};

#[cfg(test)]
mod tests;

const MAX_REPEATED_CHARS: usize = 200;

/// The length of an embedding when the request does not set it.
pub const DEFAULT_DIMENSIONS: usize = 8;

/// The text of a chat answer, before any fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedText {
    pub text: String,
    pub finish_reason: FinishReason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishReason {
    /// The model finished.
    End,
    /// The token limit cut the text.
    Length,
    /// This stop sequence cut the text.
    StopSequence(String),
    /// A content filter removed the text.
    Blocked,
    /// The model declined, with a text or without one.
    Refused,
    /// The model calls tools.
    ToolCalls,
    /// Gemini's limit of one request cut the text.
    Continuation,
    /// The server gave up.
    Aborted,
    /// The spelling from a directive.
    Named(String),
}

/// The whole answer: `sim:`, 16 hex digits of the question's SHA-256, and its first characters.
pub fn chat_text(last_user_text: &str) -> String {
    let digest = hex::encode(Sha256::digest(last_user_text.as_bytes()));
    let beginning: String = last_user_text.chars().take(MAX_REPEATED_CHARS).collect();
    format!("sim:{} {beginning}", digest.get(..16).unwrap_or_default())
}

/// The thoughts before an answer.
pub fn thinking_text(last_user_text: &str) -> String {
    let digest = hex::encode(Sha256::digest(last_user_text.as_bytes()));
    format!("sim thought {}", digest.get(..16).unwrap_or_default())
}

/// The answer, cut as [`cut_text`] does.
pub fn chat(last_user_text: &str, max_tokens: Option<u64>, stops: &[String]) -> GeneratedText {
    cut_text(&chat_text(last_user_text), max_tokens, stops)
}

/// Cuts a text at the first stop sequence, then after `max_tokens` words.
pub fn cut_text(whole: &str, max_tokens: Option<u64>, stops: &[String]) -> GeneratedText {
    let first_stop = stops
        .iter()
        .filter(|stop| !stop.is_empty())
        .filter_map(|stop| Some((whole.find(stop.as_str())?, stop)))
        .min_by_key(|(index, _)| *index);
    let (text, finish) = match first_stop {
        Some((index, stop)) => (
            whole.get(..index).unwrap_or_default(),
            FinishReason::StopSequence(stop.clone()),
        ),
        None => (whole, FinishReason::End),
    };
    match max_tokens.and_then(|max| first_words(text, max)) {
        Some(beginning) => GeneratedText {
            text: beginning.to_owned(),
            finish_reason: FinishReason::Length,
        },
        None => GeneratedText {
            text: text.to_owned(),
            finish_reason: finish,
        },
    }
}

/// The first `words` words. None: the text has no more words.
fn first_words(text: &str, words: u64) -> Option<&str> {
    let words = usize::try_from(words).ok()?;
    let mut kept = 0;
    let mut rest = text;
    for _ in 0..words {
        let word = rest.trim_start();
        let length = word.find(char::is_whitespace).unwrap_or(word.len());
        kept = text.len() - word.len() + length;
        rest = text.get(kept..)?;
    }
    (!rest.trim().is_empty())
        .then(|| text.get(..kept))
        .flatten()
}

/// The bytes of all text in the request divided by 4, rounded up.
pub fn input_tokens(bytes_of_text: usize) -> u64 {
    u64::try_from(bytes_of_text.div_ceil(4)).unwrap_or(u64::MAX)
}

/// The words of the answer.
pub fn output_tokens(answer: &str) -> u64 {
    u64::try_from(answer.split_whitespace().count()).unwrap_or(u64::MAX)
}

/// Numbers from −1 to 1, each from two bytes of the input's SHA-256. They repeat after sixteen.
///
/// Each is a multiple of 2⁻¹⁵, so every float format keeps it exact.
pub fn embedding(input: &str, dimensions: usize) -> Vec<f32> {
    let digest = Sha256::digest(input.as_bytes());
    let numbers: Vec<f32> = digest
        .chunks_exact(2)
        .map(|pair| match pair {
            [high, low] => f32::from(i16::from_be_bytes([*high, *low])) / 32768.0,
            _ => 0.0,
        })
        .collect();
    numbers.iter().copied().cycle().take(dimensions).collect()
}

/// The SHA-256 of the sorted ids, each followed by a line feed. It identifies a submission.
pub fn ids_digest<Id: AsRef<str> + Ord>(mut ids: Vec<Id>) -> String {
    ids.sort_unstable();
    let mut digest = Sha256::new();
    for id in &ids {
        digest.update(id.as_ref().as_bytes());
        digest.update(b"\n");
    }
    hex::encode(digest.finalize())
}
