//! A circuit breaker: an account that keeps failing is not called for a while, then probed.
//!
//! ```text
//! Closed ──failures in a row──▶ Open ──backoff over──▶ half-open: one probe
//!    ▲                           ▲                        │
//!    └────────── answered ───────┼────────────────────────┤
//!                                └── failed: twice as long ┘
//! ```

use chrono::TimeDelta;

use crate::time::Timestamp;

/// Failures in a row that open it.
pub const FAILURES_TO_OPEN: u32 = 3;
/// How long it stays open at first. Each probe that fails doubles it.
pub const FIRST_BACKOFF: TimeDelta = TimeDelta::seconds(5);
pub const MAX_BACKOFF: TimeDelta = TimeDelta::minutes(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CircuitBreaker {
    failures: u32,
    open: Option<OpenCircuit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenCircuit {
    until: Timestamp,
    backoff: TimeDelta,
    is_probed: bool,
}

/// Which calls may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    Any,
    /// One call, and no other until it has ended.
    Probe,
    Nothing,
}

/// What a result changed, for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerChange {
    Opened { until: Timestamp },
    Closed,
    Unchanged,
}

impl CircuitBreaker {
    pub fn allowance(&self, now: Timestamp) -> Allowance {
        match self.open {
            None => Allowance::Any,
            Some(open) if open.until <= now && !open.is_probed => Allowance::Probe,
            Some(_) => Allowance::Nothing,
        }
    }

    pub const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Until when no call may be made, if that is in the future.
    pub fn open_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.open
            .map(|open| open.until)
            .filter(|until| *until > now)
    }

    /// The probe was begun.
    pub const fn begin_probe(&mut self) {
        if let Some(open) = &mut self.open {
            open.is_probed = true;
        }
    }

    /// The probe ended without a call: another may begin at once.
    pub const fn end_probe(&mut self) {
        if let Some(open) = &mut self.open {
            open.is_probed = false;
        }
    }

    /// The account answered, with any result.
    pub const fn record_answer(&mut self) -> BreakerChange {
        self.failures = 0;
        match self.open.take() {
            Some(_) => BreakerChange::Closed,
            None => BreakerChange::Unchanged,
        }
    }

    /// The account was busy, could not be reached, or did not answer in time.
    pub fn record_failure(&mut self, now: Timestamp) -> BreakerChange {
        self.failures = self.failures.saturating_add(1);
        let backoff = match self.open {
            // A call from before the circuit opened changes nothing.
            Some(open) if open.until > now => return BreakerChange::Unchanged,
            Some(open) => (open.backoff * 2).min(MAX_BACKOFF),
            None if self.failures < FAILURES_TO_OPEN => return BreakerChange::Unchanged,
            None => FIRST_BACKOFF,
        };
        let until = now + backoff;
        self.open = Some(OpenCircuit {
            until,
            backoff,
            is_probed: false,
        });
        BreakerChange::Opened { until }
    }
}

/// When one of many requests is tried again that wait until the same time: up to a quarter later,
/// so that they do not all come at once. `seed` is the request's own, such as its id.
pub fn spread_retry(until: Timestamp, now: Timestamp, seed: u128) -> Timestamp {
    const PARTS: u128 = 1000;
    let part = i32::try_from(seed % PARTS).unwrap_or_default();
    let quarter = (until - now).max(FIRST_BACKOFF) / 4;
    until + quarter / 1000 * part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn open_breaker() -> CircuitBreaker {
        let mut breaker = CircuitBreaker::default();
        for _ in 0..FAILURES_TO_OPEN {
            breaker.record_failure(at(0));
        }
        breaker
    }

    #[test]
    fn an_answer_between_failures_keeps_it_closed() {
        let mut breaker = CircuitBreaker::default();
        for _ in 0..10 {
            assert_eq!(breaker.record_failure(at(0)), BreakerChange::Unchanged);
            assert_eq!(breaker.record_failure(at(0)), BreakerChange::Unchanged);
            assert_eq!(breaker.record_answer(), BreakerChange::Unchanged);
        }
        assert_eq!(breaker.allowance(at(0)), Allowance::Any);
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_lets_one_probe_through() {
        let mut breaker = open_breaker();
        assert_eq!(breaker.allowance(at(4)), Allowance::Nothing);
        assert_eq!(breaker.allowance(at(5)), Allowance::Probe);
        breaker.begin_probe();
        assert_eq!(breaker.allowance(at(6)), Allowance::Nothing);
        assert_eq!(breaker.record_answer(), BreakerChange::Closed);
        assert_eq!(breaker.allowance(at(6)), Allowance::Any);
    }

    #[test]
    fn requests_that_wait_for_the_same_time_are_spread_over_a_quarter_more() {
        let spread = |seed| (spread_retry(at(40), at(0), seed) - at(0)).num_milliseconds();
        assert_eq!([0, 500, 999].map(spread), [40_000, 45_000, 49_990]);
        let shortest = spread_retry(at(0), at(0), 999) - at(0);
        assert_eq!(shortest, TimeDelta::microseconds(1_248_750));
        assert_eq!(open_breaker().open_until(at(4)), Some(at(5)));
        assert_eq!(open_breaker().open_until(at(5)), None);
    }

    #[test]
    fn a_probe_without_a_call_is_followed_by_another() {
        let mut breaker = open_breaker();
        breaker.begin_probe();
        breaker.end_probe();
        assert_eq!(breaker.allowance(at(5)), Allowance::Probe);
    }

    #[test]
    fn each_probe_that_fails_doubles_the_backoff_up_to_the_maximum() {
        let mut breaker = open_breaker();
        let mut now = at(5);
        for seconds in [10, 20, 40, 80, 160, 300, 300] {
            breaker.begin_probe();
            let until = now + TimeDelta::seconds(seconds);
            assert_eq!(breaker.record_failure(now), BreakerChange::Opened { until });
            assert_eq!(breaker.record_failure(now), BreakerChange::Unchanged);
            now = until;
        }
    }
}
