//! What went wrong, grouped: errors that differ only in ids, numbers and quoted parts are alike.

/// The longest label.
pub const LONGEST: usize = 80;
/// Stands for a word with a digit in it.
const NUMBER: char = '#';
/// Stands for what was quoted.
const QUOTED: char = '…';
const NOTHING: &str = "no text";

/// The label that an error shares with those like it.
pub fn group(error: &str) -> String {
    let mut label = Label::default();
    let mut rest = error;
    // What is cut off in the end need not be read.
    while label.length <= LONGEST
        && let Some(first) = rest.chars().next()
    {
        rest = label.read(first, rest);
    }
    let cut: String = label.text.chars().take(LONGEST).collect();
    let cut = cut.trim_end();
    if cut.is_empty() { NOTHING } else { cut }.to_owned()
}

#[derive(Default)]
struct Label {
    text: String,
    length: usize,
}

impl Label {
    /// Takes the next part of the text; returns what follows it.
    fn read<'a>(&mut self, first: char, text: &'a str) -> &'a str {
        let after = text.get(first.len_utf8()..).unwrap_or_default();
        if first.is_whitespace() || first.is_control() {
            if !self.text.is_empty() && !self.text.ends_with(' ') {
                self.push(' ');
            }
            return after;
        }
        if is_of_word(first) {
            let end = text.find(|it| !is_of_word(it)).unwrap_or(text.len());
            let (word, after) = text.split_at(end);
            if word.contains(char::is_numeric) {
                self.push(NUMBER);
            } else {
                word.chars().for_each(|it| self.push(it));
            }
            return after;
        }
        if let Some((_, after)) = self.opens(first).then(|| after.split_once(first)).flatten() {
            self.push(QUOTED);
            return after;
        }
        self.push(first);
        after
    }

    /// An apostrophe within a word quotes nothing.
    fn opens(&self, mark: char) -> bool {
        let begins = || self.text.is_empty() || self.text.ends_with([' ', '(', '[', '=', ':']);
        matches!(mark, '"' | '`') || (mark == '\'' && begins())
    }

    fn push(&mut self, it: char) {
        self.text.push(it);
        self.length += 1;
    }
}

fn is_of_word(it: char) -> bool {
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
            assert_eq!(group(error), label);
        }
        assert_eq!(group(&"é".repeat(200)).chars().count(), LONGEST);
    }

    proptest! {
        #[test]
        fn a_label_is_short_and_its_own_label(error in "(?s)[a-c0-2 '\"`(:\n\0é…#]{0,200}|.{0,200}") {
            let label = group(&error);
            prop_assert_eq!(&label, &group(&error));
            prop_assert!(label.chars().count() <= LONGEST && !label.contains('\0'));
            prop_assert_eq!(&group(&label), &label);
        }

        #[test]
        fn numbers_make_no_difference(one: u64, other: u64) {
            let error = |number| format!("job {number} was lost");
            prop_assert_eq!(group(&error(one)), group(&error(other)));
        }
    }
}
