//! Counts on their way into columns, which have no unsigned numbers.

/// No count of ours comes near the edge; one that did would stop there.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// No count of ours is below nothing.
pub(crate) fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}
