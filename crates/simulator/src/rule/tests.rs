//! The answer rule against values from other programs.

use super::{
    DirectedCall, Directives, FinishReason, UsageStyle, chat, chat_text, embedding, ids_digest,
    input_tokens, output_tokens,
};

#[test]
fn an_answer_is_the_questions_digest_and_its_beginning() {
    // printf hello | sha256sum
    assert_eq!(chat_text("hello"), "sim:2cf24dba5fb0a30e hello");
    let long = "é".repeat(300);
    assert_eq!(chat_text(&long).chars().count(), 4 + 16 + 1 + 200);
}

#[test]
fn an_answer_is_cut_after_so_many_words() {
    let whole = chat("one two three", None, &[]);
    assert_eq!(whole.finish_reason, FinishReason::End);
    assert_eq!(output_tokens(&whole.text), 4);
    let exact = chat("one two three", Some(4), &[]);
    assert_eq!(exact, whole);
    let cut = chat("one two three", Some(2), &[]);
    assert_eq!(cut.finish_reason, FinishReason::Length);
    assert!(cut.text.ends_with(" one"), "{}", cut.text);
    assert_eq!(chat("one", Some(0), &[]).text, "");
}

#[test]
fn a_stop_sequence_cuts_before_the_limit_does() {
    let stops = ["three".to_owned(), "two".to_owned()];
    let generated = chat("one two three", Some(50), &stops);
    assert_eq!(
        generated.finish_reason,
        FinishReason::StopSequence("two".to_owned())
    );
    assert!(generated.text.ends_with(" one "), "{}", generated.text);
}

#[test]
fn tokens_are_quarters_of_bytes_and_words() {
    assert_eq!([0, 1, 4, 5].map(input_tokens), [0, 1, 1, 2]);
    assert_eq!(output_tokens(" a  b\nc "), 3);
}

#[test]
fn an_embedding_follows_from_its_input() {
    // The digest of "hello" begins with 2cf2 4dba.
    let expected = [
        f32::from(0x2cf2_i16) / 32768.0,
        f32::from(0x4dba_i16) / 32768.0,
    ];
    assert_eq!(embedding("hello", 2), expected);
    assert_eq!(embedding("hello", 8).len(), 8);
    assert_ne!(embedding("hello", 8), embedding("hello!", 8));
    assert_eq!(embedding("hello", 20).len(), 20);
}

#[test]
fn ids_make_one_digest_in_any_order() {
    assert_eq!(ids_digest(vec!["b", "a"]), ids_digest(vec!["a", "b"]));
    assert_ne!(ids_digest(vec!["ab"]), ids_digest(vec!["a", "b"]));
}

#[test]
fn directives_are_found_anywhere_in_the_text() {
    let read = Directives::read("please [[fail 429]] and [[slow 20]][[stop tool_calls]] [[twice]]");
    assert_eq!(read.fail(), Some(429));
    assert_eq!(read.slow_ms(), Some(20));
    assert_eq!(read.stop(), Some("tool_calls"));
    assert_eq!(read.copies(), 2);
    assert!(!read.is_blocked());
    assert_eq!(Directives::read("[[fail twice]] [[unclosed").fail(), None);
    assert_eq!(Directives::read("[[missing]]").copies(), 0);
}

#[test]
fn a_directive_may_hold_json_with_brackets() {
    let text = r#"[sim:tool find {"names":["a]","b"],"deep":[[1]]}] [[tool other]] [sim:badargs find {"a":]"#;
    let read = Directives::read(text);
    assert_eq!(
        read.calls(),
        [
            DirectedCall::Tool {
                name: "find".to_owned(),
                input: Some(serde_json::json!({"names": ["a]", "b"], "deep": [[1]]})),
            },
            DirectedCall::Tool {
                name: "other".to_owned(),
                input: None,
            },
            DirectedCall::BadArguments {
                name: "find".to_owned(),
                text: r#"{"a":"#.to_owned(),
            },
        ]
    );
}

#[test]
fn both_spellings_of_a_directive_are_the_same() {
    let read = Directives::read("[sim:think two words] [sim:cached 7] [sim:usage null] [sim:open");
    assert_eq!(read.thought(), Some("two words"));
    assert_eq!(read.cached(), Some(7));
    assert_eq!(read.usage_style(), UsageStyle::Null);
    assert_eq!(
        Directives::read("[[usage other]]").usage_style(),
        UsageStyle::Usual
    );
}
