//! An error and its causes in one line.

use std::error::Error;

/// `outer: inner: innermost`; a cause whose text is already there is left out.
pub fn chain(failure: &dyn Error) -> String {
    let mut text = failure.to_string();
    let mut source = failure.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Link(&'static str, #[source] Option<Box<Self>>);

    fn link(text: &'static str, cause: Option<Link>) -> Link {
        Link(text, cause.map(Box::new))
    }

    #[test]
    fn a_chain_is_written_from_the_outside_in() {
        let inner = link("inner", Some(link("innermost", None)));
        assert_eq!(
            chain(&link("outer", Some(inner))),
            "outer: inner: innermost"
        );
    }

    #[test]
    fn a_cause_that_is_already_written_is_left_out() {
        let repeated = link("not connected: refused", Some(link("refused", None)));
        assert_eq!(chain(&repeated), "not connected: refused");
    }
}
