//! What time it is for buckets: a given clock, or microseconds since the start.

use std::sync::Arc;
use std::time::Instant;

use domain::time::Clock;

#[derive(Debug)]
pub(super) struct Watch {
    clock: Option<Arc<dyn Clock>>,
    started: Instant,
}

impl Watch {
    pub(super) fn new(clock: Option<Arc<dyn Clock>>) -> Self {
        Self {
            clock,
            started: Instant::now(),
        }
    }

    /// For the buckets of this process.
    pub(super) fn now(&self) -> i64 {
        let elapsed = || i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.given().unwrap_or_else(elapsed)
    }

    /// For the script; nothing means Redis's own clock.
    pub(super) fn given(&self) -> Option<i64> {
        let clock = self.clock.as_ref()?;
        Some(clock.now().timestamp_micros())
    }
}
