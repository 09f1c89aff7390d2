//! Reads names of tools and schemas, and ids of calls.

use super::reader::{FieldValue, NOT_A_STRING, ValueMismatch, ValueReader};

const MAX_NAME_BYTES: usize = 64;
const INVALID_NAME: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be 1 to 64 letters, digits, _ or -, and begin with a letter or _",
);
const INVALID_ID: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be 1 to 64 letters, digits, _ or -",
);

/// A name that every provider takes.
#[derive(Debug)]
pub(super) struct NameReader;

impl ValueReader<'_> for NameReader {
    type Value = String;
    const MISMATCH: ValueMismatch = NOT_A_STRING;

    fn read_text(self, text: &str) -> FieldValue<String> {
        let begins_well = text.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
        if begins_well && is_word(text) {
            FieldValue::Valid(text.to_owned())
        } else {
            FieldValue::Invalid(INVALID_NAME)
        }
    }
}

/// The id of a call of a tool.
#[derive(Debug)]
pub(super) struct ToolUseIdReader;

impl ValueReader<'_> for ToolUseIdReader {
    type Value = String;
    const MISMATCH: ValueMismatch = NOT_A_STRING;

    fn read_text(self, text: &str) -> FieldValue<String> {
        if is_word(text) {
            FieldValue::Valid(text.to_owned())
        } else {
            FieldValue::Invalid(INVALID_ID)
        }
    }
}

fn is_word(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_are_words_of_at_most_64_characters() {
        let is_name = |text: &str| matches!(NameReader.read_text(text), FieldValue::Valid(_));
        let is_id = |text: &str| matches!(ToolUseIdReader.read_text(text), FieldValue::Valid(_));
        let longest = "x".repeat(64);
        for text in ["a", "_", "get_weather", "A-1", &longest] {
            assert!(is_name(text) && is_id(text), "{text}");
        }
        for text in ["-a", "1a"] {
            assert!(!is_name(text) && is_id(text), "{text}");
        }
        for text in ["", "a b", "a.b", "é", "a\0", &"x".repeat(65)] {
            assert!(!is_name(text) && !is_id(text), "{text}");
        }
    }
}
