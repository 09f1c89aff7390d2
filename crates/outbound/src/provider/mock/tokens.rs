//! The mock's tokenizer: a token is up to four characters of a word.

const MAX_TOKEN_CHARS: usize = 4;

pub(super) fn count(text: &str) -> u64 {
    token_ends(text).fold(0, |count, _| count + 1)
}

/// The first `most` tokens of the text; `None` if it has no more than that.
pub(super) fn truncate(text: &str, most: u32) -> Option<&str> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut ends = token_ends(text);
    let end = match most.checked_sub(1) {
        Some(before) => ends.nth(before)?,
        None => 0,
    };
    ends.next()?;
    text.get(..end)
}

/// The end offset of each token.
fn token_ends(text: &str) -> impl Iterator<Item = usize> {
    let mut letters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let mut length = 0;
        while let Some((start, letter)) = letters.next() {
            if letter.is_whitespace() {
                continue;
            }
            length += 1;
            let word_ends = letters.peek().is_none_or(|(_, next)| next.is_whitespace());
            if length == MAX_TOKEN_CHARS || word_ends {
                return Some(start + letter.len_utf8());
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_token_for_every_four_characters() {
        for (text, tokens) in [
            ("", 0),
            (" \n\t ", 0),
            ("a", 1),
            ("abcd", 1),
            ("abcde", 2),
            ("  one  two\nthree ", 4),
            ("grüßen", 2),
            ("a\u{a0}b", 2),
        ] {
            assert_eq!(count(text), tokens, "{text:?}");
        }
    }

    #[test]
    fn a_cut_text_has_exactly_so_many_tokens() {
        let text = " one  two three grüßen ";
        assert_eq!(truncate(text, 0), Some(""));
        assert_eq!(truncate(text, 2), Some(" one  two"));
        assert_eq!(truncate(text, 3), Some(" one  two thre"));
        assert_eq!(truncate(text, 5), Some(" one  two three grüß"));
        assert_eq!(
            (truncate(text, 6), truncate(text, 7), truncate("", 0)),
            (None, None, None)
        );
        for most in 0..6 {
            assert_eq!(count(truncate(text, most).unwrap()), u64::from(most));
        }
    }
}
