//! Labels that group failures: errors that differ only in ids, numbers and quotes share one. A
//! label that is cut ends with an ellipsis.

pub const MAX_LABEL_CHARS: usize = 80;
/// Replaces a word that contains a digit.
const NUMBER_PLACEHOLDER: char = '#';
/// Replaces quoted text.
const QUOTE_PLACEHOLDER: char = '…';
/// Ends a label that is cut.
const ELLIPSIS: char = '…';
const EMPTY_LABEL: &str = "no text";

/// The label of an error.
pub fn failure_label(error: &str) -> String {
    let mut label = LabelBuilder::default();
    let mut rest = error;
    // The label is cut at its maximum, so the rest need not be read.
    while label.length <= MAX_LABEL_CHARS
        && let Some(first) = rest.chars().next()
    {
        rest = label.read(first, rest);
    }
    let text = label.text.trim_end();
    if text.is_empty() {
        return EMPTY_LABEL.to_owned();
    }
    if text.chars().count() <= MAX_LABEL_CHARS && rest.chars().all(is_blank) {
        return text.to_owned();
    }
    let cut: String = text.chars().take(MAX_LABEL_CHARS - 1).collect();
    format!("{}{ELLIPSIS}", cut.trim_end())
}

#[derive(Default)]
struct LabelBuilder {
    text: String,
    length: usize,
}

impl LabelBuilder {
    /// Reads the next part of the text and returns the rest.
    fn read<'a>(&mut self, first: char, text: &'a str) -> &'a str {
        let after = text.get(first.len_utf8()..).unwrap_or_default();
        if is_blank(first) {
            if !self.text.is_empty() && !self.text.ends_with(' ') {
                self.push(' ');
            }
            return after;
        }
        if is_word_char(first) {
            let end = text.find(|it| !is_word_char(it)).unwrap_or(text.len());
            let (word, after) = text.split_at(end);
            if word.contains(char::is_numeric) {
                self.push(NUMBER_PLACEHOLDER);
            } else {
                word.chars().for_each(|it| self.push(it));
            }
            return after;
        }
        if let Some((_, after)) = self
            .opens_quote(first)
            .then(|| after.split_once(first))
            .flatten()
        {
            self.push(QUOTE_PLACEHOLDER);
            return after;
        }
        self.push(first);
        after
    }

    /// An apostrophe within a word is not a quote.
    fn opens_quote(&self, mark: char) -> bool {
        let begins = || self.text.is_empty() || self.text.ends_with([' ', '(', '[', '=', ':']);
        matches!(mark, '"' | '`') || (mark == '\'' && begins())
    }

    fn push(&mut self, it: char) {
        self.text.push(it);
        self.length += 1;
    }
}

fn is_blank(it: char) -> bool {
    it.is_whitespace() || it.is_control()
}

fn is_word_char(it: char) -> bool {
    it.is_alphanumeric() || matches!(it, '_' | '-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn alike_errors_share_a_label() {
        let table = [
            (
                "the deadline of 24 hours has passed",
                "the deadline of # hours has passed",
            ),
            (
                "request req_01AbC failed:\n  status 503",
                "request # failed: status #",
            ),
            (
                "model `gpt-5` isn't \"known\" to 'us'",
                "model … isn't … to …",
            ),
            ("an \"open quote", "an \"open quote"),
            ("\0 \t", "no text"),
            ("", "no text"),
        ];
        for (error, label) in table {
            assert_eq!(failure_label(error), label);
        }
    }

    #[test]
    fn only_a_label_that_is_cut_ends_with_an_ellipsis() {
        let text = |chars: usize| "é".repeat(chars);
        for chars in [1, 79, 80] {
            assert_eq!(failure_label(&text(chars)), text(chars));
        }
        assert_eq!(failure_label(&format!("{} \n\0 ", text(80))), text(80));
        let cut = format!("{}…", text(79));
        for chars in [81, 200] {
            assert_eq!(failure_label(&text(chars)), cut);
        }
        assert_eq!(failure_label(&format!("{} a", text(80))), cut);
        // A label does not end with a space before the ellipsis.
        let cut = format!("{}…", text(78));
        assert_eq!(failure_label(&format!("{} a word", text(78))), cut);
    }

    proptest! {
        #[test]
        fn a_label_is_short_and_its_own_label(error in "(?s)[a-c0-2 '\"`(:\n\0é…#]{0,200}|.{0,200}") {
            let label = failure_label(&error);
            prop_assert_eq!(&label, &failure_label(&error));
            prop_assert!(label.chars().count() <= MAX_LABEL_CHARS && !label.contains('\0'));
            prop_assert_eq!(&failure_label(&label), &label);
        }

        #[test]
        fn numbers_make_no_difference(one: u64, other: u64) {
            let error = |number| format!("job {number} was lost");
            prop_assert_eq!(failure_label(&error(one)), failure_label(&error(other)));
        }
    }
}
