//! When a stage compares the claims in the database with the work that it knows of.
//!
//! A claiming statement whose answer was lost may run after its worker has given up: a network that
//! was silent delivers it late. One comparison after the failure is then too early.

use chrono::TimeDelta;
use domain::time::Timestamp;

/// How long after a failure claims may still appear.
const IN_DOUBT_DURATION: TimeDelta = TimeDelta::seconds(30);
const IN_DOUBT_CHECK_INTERVAL: TimeDelta = TimeDelta::seconds(5);
const ROUTINE_CHECK_INTERVAL: TimeDelta = TimeDelta::minutes(5);

#[derive(Debug)]
pub(crate) struct ClaimChecks {
    in_doubt_until: Timestamp,
    next_at: Timestamp,
}

impl Default for ClaimChecks {
    fn default() -> Self {
        Self {
            in_doubt_until: Timestamp::UNIX_EPOCH,
            next_at: Timestamp::UNIX_EPOCH,
        }
    }
}

impl ClaimChecks {
    /// A statement of the stage has failed.
    pub(crate) fn doubt(&mut self, now: Timestamp) {
        self.in_doubt_until = now + IN_DOUBT_DURATION;
        self.next_at = self.next_at.min(now + IN_DOUBT_CHECK_INTERVAL);
    }

    /// A claim was not released: the next check comes at once.
    pub(crate) fn doubt_at_once(&mut self, now: Timestamp) {
        self.doubt(now);
        self.next_at = now;
    }

    /// Whether the caller checks now. The next check follows after an interval.
    pub(crate) fn is_due(&mut self, now: Timestamp) -> bool {
        if now < self.next_at {
            return false;
        }
        let interval = if now < self.in_doubt_until {
            IN_DOUBT_CHECK_INTERVAL
        } else {
            ROUTINE_CHECK_INTERVAL
        };
        self.next_at = now + interval;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_checked_often_after_a_failure() {
        let start = Timestamp::UNIX_EPOCH + TimeDelta::days(1);
        let at = |seconds| start + TimeDelta::seconds(seconds);
        let mut checks = ClaimChecks::default();
        assert!(checks.is_due(start));
        assert!(!checks.is_due(at(299)));
        assert!(checks.is_due(at(300)));
        checks.doubt(at(310));
        let due = (310..700).filter(|seconds| checks.is_due(at(*seconds)));
        assert_eq!(due.collect::<Vec<_>>(), [315, 320, 325, 330, 335, 340, 640]);
        checks.doubt_at_once(at(700));
        assert!(checks.is_due(at(700)) && !checks.is_due(at(704)) && checks.is_due(at(705)));
    }
}
