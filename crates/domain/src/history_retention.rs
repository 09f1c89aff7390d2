//! How long rows are kept that outlive cargo: postings, counts and the audit log.

use chrono::TimeDelta;

use crate::time::{Timestamp, start_of_day};

/// Hours of usage and of callbacks are kept as long as cargo, and at least this long: pages show
/// them.
pub const MIN_HOUR_RETENTION: TimeDelta = TimeDelta::days(35);
/// How long nodes can read which keys, projects and organizations were changed.
pub const CHANGE_RETENTION: TimeDelta = TimeDelta::days(30);

/// The choices of an installation for one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryRetention {
    /// Cargo, and what belongs to it.
    pub cargo: TimeDelta,
    /// Postings, closing balances and the spending of capped keys.
    pub ledger: TimeDelta,
    /// Days of usage.
    pub usage: TimeDelta,
}

/// The defaults of the settings.
impl Default for HistoryRetention {
    fn default() -> Self {
        Self {
            cargo: TimeDelta::days(30),
            ledger: TimeDelta::days(400),
            usage: TimeDelta::days(760),
        }
    }
}

impl HistoryRetention {
    /// Hours of usage before this are summed to days, and counts of callbacks are deleted. A
    /// midnight (UTC), so that each day is summed as a whole.
    pub fn hours_before(&self, now: Timestamp) -> Timestamp {
        start_of_day(now - self.cargo.max(MIN_HOUR_RETENTION))
    }

    /// Usage before this is deleted.
    pub fn usage_before(&self, now: Timestamp) -> Timestamp {
        start_of_day(now - self.usage).min(self.hours_before(now))
    }

    /// Postings before this leave. `cargo_since` is when the oldest cargo that is kept was loaded:
    /// the postings that settle it stay.
    pub fn postings_before(&self, now: Timestamp, cargo_since: Timestamp) -> Timestamp {
        (now - self.ledger).min(cargo_since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn hours_are_kept_as_long_as_cargo_and_thirty_five_days_at_least() {
        let now = moment("2026-03-31T15:04:05Z");
        assert_eq!(
            HistoryRetention::default().hours_before(now),
            moment("2026-02-24T00:00:00Z")
        );
        let longer = HistoryRetention {
            cargo: TimeDelta::days(90),
            ..HistoryRetention::default()
        };
        assert_eq!(longer.hours_before(now), moment("2025-12-31T00:00:00Z"));
    }

    #[test]
    fn usage_never_leaves_before_its_hours() {
        let now = moment("2026-03-31T15:04:05Z");
        assert_eq!(
            HistoryRetention::default().usage_before(now),
            moment("2024-03-01T00:00:00Z")
        );
        let shorter = HistoryRetention {
            usage: TimeDelta::days(10),
            ..HistoryRetention::default()
        };
        assert_eq!(shorter.usage_before(now), shorter.hours_before(now));
    }

    #[test]
    fn postings_of_kept_cargo_stay() {
        let now = moment("2026-03-31T15:04:05Z");
        let recent = moment("2026-03-01T00:00:00Z");
        assert_eq!(
            HistoryRetention::default().postings_before(now, recent),
            moment("2025-02-24T15:04:05Z")
        );
        let old = moment("2024-01-01T00:00:00Z");
        assert_eq!(HistoryRetention::default().postings_before(now, old), old);
    }
}
