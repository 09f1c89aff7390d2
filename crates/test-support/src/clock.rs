//! A clock that only the test moves.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use domain::time::{Clock, Timestamp};

/// 1 January 2026, the day on which the partitions of a test database begin.
const DEFAULT_START_MICROS: i64 = 1_767_225_600_000_000;

/// The time, in microseconds.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl Default for ManualClock {
    fn default() -> Self {
        Self(AtomicI64::new(DEFAULT_START_MICROS))
    }
}

impl ManualClock {
    pub const fn starting_at(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.timestamp_micros()))
    }

    pub fn advance(&self, by: Duration) -> Timestamp {
        self.0
            .fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
        self.now()
    }

    /// Sets the clock to any time, also to an earlier one.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.timestamp_micros(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_timestamp_micros(self.0.load(Ordering::SeqCst)).unwrap()
    }

    fn synchronize(&self, _shard_time: Timestamp) {}
}
