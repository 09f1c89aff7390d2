//! How counts that stop somewhere are written.

use std::borrow::Borrow;

use chrono::TimeDelta;
use store::view::operations::{self, Depth};

use crate::text;

/// A count that stops somewhere: beyond, all that is known is that there are more.
pub(super) fn at_most(count: impl Borrow<i64>) -> String {
    let count = *count.borrow();
    if count > operations::EXACT {
        format!("more than {}", text::count(operations::EXACT))
    } else {
        text::count(count)
    }
}

pub(super) fn depth(depth: &Depth) -> String {
    match depth {
        Depth::Exactly(count) => text::count(*count),
        Depth::About(count) => format!("≈ {}", text::short(*count)),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "milliseconds are fine enough"
)]
pub(super) fn seconds(seconds: impl Borrow<f64>) -> String {
    let seconds = *seconds.borrow();
    text::duration(TimeDelta::milliseconds((seconds * 1000.0) as i64))
}
