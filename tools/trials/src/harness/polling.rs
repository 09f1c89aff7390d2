//! Waits for a state that only polling can see.

use std::time::{Duration, Instant};

use crate::harness::{Result, build_profile};

/// How long to wait, and how often to look.
#[derive(Debug, Clone, Copy)]
pub struct PollLimits {
    pub timeout: Duration,
    pub interval: Duration,
}

impl PollLimits {
    /// A wait for what will come.
    pub const fn new(timeout: Duration, interval: Duration) -> Self {
        Self::exact(build_profile::extend_timeout(timeout), interval)
    }

    /// A watch that lasts this long in every build, unless it ends early: what it looks for may
    /// never come.
    pub const fn exact(length: Duration, interval: Duration) -> Self {
        Self {
            timeout: length,
            interval,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wait_is_longer_in_a_debug_build() {
        let (short, interval) = (Duration::from_secs(5), Duration::from_millis(10));
        let waits = PollLimits::new(short, interval).timeout;
        assert_eq!(waits, build_profile::extend_timeout(short));
        assert_eq!(PollLimits::exact(short, interval).timeout, short);
    }
}
