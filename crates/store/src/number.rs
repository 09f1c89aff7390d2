//! Conversions between counts and columns, which have no unsigned integers.

/// A count above `i64::MAX` becomes `i64::MAX`.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A negative count becomes 0.
pub(crate) fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}
