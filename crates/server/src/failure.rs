//! A failure and its causes, in one line.

use std::error::Error;

/// `outer: inner: innermost`, without what repeats.
pub fn chain(failure: &dyn Error) -> String {
    let mut text = failure.to_string();
    let mut source = failure.source();
    while let Some(cause) = source {
        let told = cause.to_string();
        if !text.contains(&told) {
            text.push_str(": ");
            text.push_str(&told);
        }
        source = cause.source();
    }
    text
}
