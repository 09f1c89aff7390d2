//! Formatting of the numbers on the operations page.

use std::borrow::Borrow;

use chrono::TimeDelta;
use store::view::operations::{self, QueueDepth};

use crate::text;

/// A count that the database caps: above the cap the exact number is unknown.
pub(super) fn capped_count(count: impl Borrow<i64>) -> String {
    let count = *count.borrow();
    if count > operations::MAX_EXACT_COUNT {
        format!("more than {}", text::count(operations::MAX_EXACT_COUNT))
    } else {
        text::count(count)
    }
}

pub(super) fn depth(depth: &QueueDepth) -> String {
    match depth {
        QueueDepth::Exactly(count) => text::count(*count),
        QueueDepth::About(count) => format!("≈ {}", text::short(*count)),
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
