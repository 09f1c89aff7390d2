//! The clock of the buckets: a given one, or the microseconds since the start.

use std::sync::Arc;
use std::time::Instant;

use domain::time::Clock;

#[derive(Debug)]
pub(super) struct LimiterClock {
    clock: Option<Arc<dyn Clock>>,
    started: Instant,
}

impl LimiterClock {
    pub(super) fn new(clock: Option<Arc<dyn Clock>>) -> Self {
        Self {
            clock,
            started: Instant::now(),
        }
    }

    /// For the buckets of this process.
    pub(super) fn now(&self) -> i64 {
        let elapsed = || i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.given_now().unwrap_or_else(elapsed)
    }

    /// For the script in Redis. Nothing means Redis's own clock.
    pub(super) fn given_now(&self) -> Option<i64> {
        let clock = self.clock.as_ref()?;
        Some(clock.now().timestamp_micros())
    }
}
