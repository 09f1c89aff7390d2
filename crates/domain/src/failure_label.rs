//! Labels that group failures: errors that differ only in ids, numbers and quotes share one.

pub const MAX_LABEL_CHARS: usize = 80;
/// Replaces a word that contains a digit.
const NUMBER_PLACEHOLDER: char = '#';
/// Replaces quoted text.
const QUOTE_PLACEHOLDER: char = '…';
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
    let cut: String = label.text.chars().take(MAX_LABEL_CHARS).collect();
    let cut = cut.trim_end();
    if cut.is_empty() { EMPTY_LABEL } else { cut }.to_owned()
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
        if first.is_whitespace() || first.is_control() {
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
        assert_eq!(
            failure_label(&"é".repeat(200)).chars().count(),
            MAX_LABEL_CHARS
        );
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
