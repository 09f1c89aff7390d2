//! Waits for a state that only polling can see.

use std::time::{Duration, Instant};

use crate::harness::Result;

/// How long to wait, and how often to look.
#[derive(Debug, Clone, Copy)]
pub struct PollLimits {
    pub timeout: Duration,
    pub interval: Duration,
}

impl PollLimits {
    pub const fn new(timeout: Duration, interval: Duration) -> Self {
        Self { timeout, interval }
    }

    /// Reads until the value is as wanted, or the time is over. Returns the last value, which the
    /// caller judges.
    pub async fn read_until<T>(
        self,
        is_wanted: impl Fn(&T) -> bool,
        mut read: impl AsyncFnMut() -> Result<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        loop {
            let value = read().await?;
            if is_wanted(&value) || begun.elapsed() > self.timeout {
                return Ok(value);
            }
            tokio::time::sleep(self.interval).await;
        }
    }

    /// Waits until this holds; returns whether it does.
    pub async fn wait_until(self, mut holds: impl FnMut() -> bool) -> bool {
        let begun = Instant::now();
        while !holds() {
            if begun.elapsed() > self.timeout {
                return false;
            }
            tokio::time::sleep(self.interval).await;
        }
        true
    }
}
