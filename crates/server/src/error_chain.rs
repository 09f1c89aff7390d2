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
