//! Cases that a plain text search gets wrong.

use super::{TokenKind, lex, without_tests};

fn words(text: &str) -> Vec<&str> {
    lex(text)
        .iter()
        .filter_map(|token| match token.kind {
            TokenKind::Word(word) => Some(word),
            TokenKind::Punctuation(_) | TokenKind::PathSeparator | TokenKind::StringLiteral(_) => {
                None
            }
        })
        .collect()
}

fn texts(text: &str) -> Vec<&str> {
    lex(text)
        .iter()
        .filter_map(|token| match token.kind {
            TokenKind::StringLiteral(text) => Some(text),
            TokenKind::Punctuation(_) | TokenKind::PathSeparator | TokenKind::Word(_) => None,
        })
        .collect()
}

#[test]
fn comments_are_not_code() {
    assert_eq!(words("a // b\n/* c /* d */ e */ f"), ["a", "f"]);
    assert_eq!(words("/// `b`\n//! c\na"), ["a"]);
}

#[test]
fn strings_of_every_spelling_are_texts() {
    assert_eq!(texts(r#"x("a\"b", b"c")"#), [r#"a\"b"#, "c"]);
    let raw = "r#\"say \"hi\"\"# r\"plain\"";
    assert_eq!(texts(raw), ["say \"hi\"", "plain"]);
    assert_eq!(words(r#""crate::hidden""#), Vec::<&str>::new());
}

#[test]
fn lifetimes_and_characters_are_distinguished() {
    assert_eq!(
        words("fn f<'a>(x: &'a str) { '\"'; '\\''; '{' }"),
        ["fn", "f", "a", "x", "a", "str"]
    );
}

#[test]
fn a_word_that_begins_like_a_string_is_a_word() {
    assert_eq!(
        words("bytes crate raw r#type"),
        ["bytes", "crate", "raw", "r", "type"]
    );
}

#[test]
fn lines_are_counted_through_strings_and_comments() {
    let lines: Vec<usize> = lex("a\n\"x\ny\"\n/* \n */ b")
        .iter()
        .map(|token| token.line)
        .collect();
    assert_eq!(lines, [1, 2, 5]);
}

#[test]
fn items_for_tests_are_left_out_and_such_modules_named() {
    let text = "
        fn kept() {}
        #[cfg(test)] use crate::{hidden, too};
        #[cfg(test)]
        mod tests;
        #[cfg(all(test, unix))] #[expect(x)] mod inline { fn hidden() { [0; 3]; } }
        #[cfg(not(test))] fn also_kept() {}
        fn last() {}";
    let tokens = lex(text);
    let (kept, modules) = without_tests(&tokens);
    let names: Vec<&str> = kept
        .iter()
        .filter_map(|token| match token.kind {
            TokenKind::Word(word) => Some(word),
            TokenKind::Punctuation(_) | TokenKind::PathSeparator | TokenKind::StringLiteral(_) => {
                None
            }
        })
        .filter(|word| !matches!(*word, "fn" | "cfg" | "not" | "test"))
        .collect();
    assert_eq!(names, ["kept", "also_kept", "last"]);
    assert_eq!(modules, ["tests"]);
}
