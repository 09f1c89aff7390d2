//! Texts of a server on a terminal: without the characters that would control it.

use std::borrow::Cow;

/// Stands for a control character.
const REPLACEMENT: &str = "\u{fffd}";

/// The text with its lines and tabs, and without other control characters. An escape sequence could
/// change what the person sees, or answer in the person's name.
pub fn printable(text: &str) -> Cow<'_, str> {
    replace_controls(text, |it| it == '\n' || it == '\t')
}

/// The same on one line, for a cell of a table.
pub fn printable_cell(text: &str) -> Cow<'_, str> {
    replace_controls(text, |_| false)
}

fn replace_controls(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_replaced = |it: char| it.is_control() && !is_kept(it);
    if text.contains(is_replaced) {
        Cow::Owned(text.replace(is_replaced, REPLACEMENT))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        let text = "a\u{1b}]0;title\u{7}\r\n\tb\u{9b}31m\u{7f}é";
        let expected = "a\u{fffd}]0;title\u{fffd}\u{fffd}\n\tb\u{fffd}31m\u{fffd}é";
        assert_eq!(printable(text), expected);
        assert_eq!(printable_cell("a\nb\tc"), "a\u{fffd}b\u{fffd}c");
        assert_eq!(printable("plain"), "plain");
    }
}
