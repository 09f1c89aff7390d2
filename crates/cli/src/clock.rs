//! The clock of this host: callbacks that test a receiver carry the time.
#![expect(
    clippy::disallowed_methods,
    reason = "the only reader of the clock in this program"
)]

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since the Unix epoch.
pub fn unix_seconds() -> i64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = passed.map_or(0, |passed| passed.as_secs());
    i64::try_from(seconds).unwrap_or(i64::MAX)
}
