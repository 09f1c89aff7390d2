//! A circuit breaker: an account that keeps failing is left alone for a while, then probed.
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
/// How long it stays open first; each probe that fails doubles it.
pub const FIRST_BACKOFF: TimeDelta = TimeDelta::seconds(5);
pub const LONGEST_BACKOFF: TimeDelta = TimeDelta::minutes(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CircuitBreaker {
    failures: u32,
    open: Option<Open>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    until: Timestamp,
    backoff: TimeDelta,
    is_probed: bool,
}

/// How much may be begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    Any,
    /// One, and nothing else until it has ended.
    Probe,
    Nothing,
}

/// What a result changed, for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
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

    /// The probe ended and asked nothing: another may be begun at once.
    pub const fn end_probe(&mut self) {
        if let Some(open) = &mut self.open {
            open.is_probed = false;
        }
    }

    /// The account answered, whatever it said.
    pub const fn answered(&mut self) -> Change {
        self.failures = 0;
        match self.open.take() {
            Some(_) => Change::Closed,
            None => Change::Unchanged,
        }
    }

    /// The account was busy, could not be reached, or did not answer in time.
    pub fn failed(&mut self, now: Timestamp) -> Change {
        self.failures = self.failures.saturating_add(1);
        let backoff = match self.open {
            // A call from before it opened: known already.
            Some(open) if open.until > now => return Change::Unchanged,
            Some(open) => (open.backoff * 2).min(LONGEST_BACKOFF),
            None if self.failures < FAILURES_TO_OPEN => return Change::Unchanged,
            None => FIRST_BACKOFF,
        };
        let until = now + backoff;
        self.open = Some(Open {
            until,
            backoff,
            is_probed: false,
        });
        Change::Opened { until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn opened() -> CircuitBreaker {
        let mut breaker = CircuitBreaker::default();
        for _ in 0..FAILURES_TO_OPEN {
            breaker.failed(at(0));
        }
        breaker
    }

    #[test]
    fn an_answer_between_failures_keeps_it_closed() {
        let mut breaker = CircuitBreaker::default();
        for _ in 0..10 {
            assert_eq!(breaker.failed(at(0)), Change::Unchanged);
            assert_eq!(breaker.failed(at(0)), Change::Unchanged);
            assert_eq!(breaker.answered(), Change::Unchanged);
        }
        assert_eq!(breaker.allowance(at(0)), Allowance::Any);
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_lets_one_probe_through() {
        let mut breaker = opened();
        assert_eq!(breaker.allowance(at(4)), Allowance::Nothing);
        assert_eq!(breaker.allowance(at(5)), Allowance::Probe);
        breaker.begin_probe();
        assert_eq!(breaker.allowance(at(6)), Allowance::Nothing);
        assert_eq!(breaker.answered(), Change::Closed);
        assert_eq!(breaker.allowance(at(6)), Allowance::Any);
    }

    #[test]
    fn a_probe_that_asked_nothing_is_followed_by_another() {
        let mut breaker = opened();
        breaker.begin_probe();
        breaker.end_probe();
        assert_eq!(breaker.allowance(at(5)), Allowance::Probe);
    }

    #[test]
    fn each_probe_that_fails_doubles_the_backoff_up_to_the_longest() {
        let mut breaker = opened();
        let mut now = at(5);
        for seconds in [10, 20, 40, 80, 160, 300, 300] {
            breaker.begin_probe();
            let until = now + TimeDelta::seconds(seconds);
            assert_eq!(breaker.failed(now), Change::Opened { until });
            assert_eq!(breaker.failed(now), Change::Unchanged);
            now = until;
        }
    }
}
