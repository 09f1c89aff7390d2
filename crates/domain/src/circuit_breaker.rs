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
