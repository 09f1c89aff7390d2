//! The retry schedule of callbacks: when each delivery attempt is due.

use std::str::FromStr;

use chrono::TimeDelta;

use crate::time::Timestamp;

/// The delay before each retry, counted from the end of the previous attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySchedule {
    delays: Vec<TimeDelta>,
}

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryRetryDecision {
    Retry {
        at: Timestamp,
    },
    /// The last retry failed: `callback_failed`.
    GiveUp,
}

impl RetrySchedule {
    pub fn new(retries: impl IntoIterator<Item = TimeDelta>) -> Self {
        Self {
            delays: retries.into_iter().collect(),
        }
    }

    /// `attempt` counts from 1 and has just ended without success.
    pub fn after_failure(&self, attempt: u32, ended_at: Timestamp) -> DeliveryRetryDecision {
        let retry = usize::try_from(attempt)
            .unwrap_or(usize::MAX)
            .saturating_sub(1);
        match self.delays.get(retry) {
            Some(wait) => DeliveryRetryDecision::Retry {
                at: ended_at + *wait,
            },
            None => DeliveryRetryDecision::GiveUp,
        }
    }
}

impl Default for RetrySchedule {
    /// The contract's: 30 s, 2 m, 10 m, 30 m, 1 h.
    fn default() -> Self {
        Self::new([30, 120, 600, 1800, 3600].map(TimeDelta::seconds))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("retry delays are whole seconds separated by commas, such as 30,120,600,1800,3600")]
pub struct InvalidRetrySchedule;

impl FromStr for RetrySchedule {
    type Err = InvalidRetrySchedule;

    fn from_str(text: &str) -> Result<Self, InvalidRetrySchedule> {
        let seconds = text.split(',').map(|part| part.trim().parse::<u32>());
        let retries: Result<Vec<_>, _> = seconds
            .map(|wait| wait.map(|wait| TimeDelta::seconds(i64::from(wait))))
            .collect();
        retries.map(Self::new).map_err(|_| InvalidRetrySchedule)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn six_attempts_end_after_the_documented_time() {
        let start = DateTime::from_timestamp_micros(0).unwrap();
        let (mut now, mut elapsed) = (start, Vec::new());
        for attempt in 1.. {
            elapsed.push((now - start).num_seconds());
            match RetrySchedule::default().after_failure(attempt, now) {
                DeliveryRetryDecision::Retry { at } => now = at,
                DeliveryRetryDecision::GiveUp => break,
            }
        }
        assert_eq!(elapsed, [0, 30, 150, 750, 2550, 6150]);
    }

    #[test]
    fn a_schedule_is_read_from_seconds() {
        assert_eq!(
            "30, 120,600,1800,3600".parse(),
            Ok(RetrySchedule::default())
        );
        for bad in ["", "1,,2", "1.5", "-1", "soon"] {
            assert_eq!(
                bad.parse::<RetrySchedule>(),
                Err(InvalidRetrySchedule),
                "{bad}"
            );
        }
    }
}
