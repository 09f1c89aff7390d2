//! The rule of answers: what is said follows from what was asked, so a test can know it beforehand.

use sha2::{Digest as _, Sha256};

mod directives;

pub use directives::Directives;

#[cfg(test)]
mod tests;

/// How many characters of the question an answer repeats.
const REPEATED: usize = 200;

/// How many numbers an embedding has when the request does not say.
pub const DIMENSIONS: usize = 8;

/// What a chat model says, before any fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    pub finish: Finish,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// The model came to its end.
    End,
    /// The limit of tokens cut it.
    Length,
    /// This stop sequence cut it.
    Sequence(String),
    /// A filter left nothing.
    Blocked,
    Refused,
    /// As a directive wants it spelled.
    Named(String),
}

/// The whole answer: `sim:`, 16 hex digits of the question's SHA-256, and the question's beginning.
pub fn chat_text(last_user_text: &str) -> String {
    let digest = hex::encode(Sha256::digest(last_user_text.as_bytes()));
    let beginning: String = last_user_text.chars().take(REPEATED).collect();
    format!("sim:{} {beginning}", digest.get(..16).unwrap_or_default())
}

/// The answer, cut at the first stop sequence and then after `max_tokens` words.
pub fn chat(last_user_text: &str, max_tokens: Option<u64>, stops: &[String]) -> Said {
    let whole = chat_text(last_user_text);
    let first_stop = stops
        .iter()
        .filter(|stop| !stop.is_empty())
        .filter_map(|stop| Some((whole.find(stop.as_str())?, stop)))
        .min_by_key(|(place, _)| *place);
    let (text, finish) = match first_stop {
        Some((place, stop)) => (
            whole.get(..place).unwrap_or_default(),
            Finish::Sequence(stop.clone()),
        ),
        None => (whole.as_str(), Finish::End),
    };
    match max_tokens.and_then(|most| beginning_of(text, most)) {
        Some(beginning) => Said {
            text: beginning.to_owned(),
            finish: Finish::Length,
        },
        None => Said {
            text: text.to_owned(),
            finish,
        },
    }
}

/// The first so many words, if there are more than these.
fn beginning_of(text: &str, words: u64) -> Option<&str> {
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

/// A quarter of the bytes of all text in the request, rounded up.
pub fn input_tokens(bytes_of_text: usize) -> u64 {
    u64::try_from(bytes_of_text.div_ceil(4)).unwrap_or(u64::MAX)
}

/// The words of the answer.
pub fn output_tokens(answer: &str) -> u64 {
    u64::try_from(answer.split_whitespace().count()).unwrap_or(u64::MAX)
}

/// Numbers from −1 up to 1, each from two bytes of the input's SHA-256; they repeat after sixteen.
///
/// Each is a multiple of 2⁻¹⁵, so that it survives any spelling as a float.
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

/// The SHA-256 of the sorted ids, each followed by a line feed: what a submission is known by.
pub fn ids_digest<Id: AsRef<str> + Ord>(mut ids: Vec<Id>) -> String {
    ids.sort_unstable();
    let mut digest = Sha256::new();
    for id in &ids {
        digest.update(id.as_ref().as_bytes());
        digest.update(b"\n");
    }
    hex::encode(digest.finalize())
}
