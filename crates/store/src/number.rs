//! Counts on their way into columns, which have no unsigned numbers.

/// No count of ours comes near the edge; one that did would stop there.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
