//! Retries of cargo that a provider did not answer: backoff, and the number of attempts.

use chrono::TimeDelta;

/// How often a cargo is sent to a provider that fails to answer this cargo alone.
pub const MAX_ATTEMPTS: u32 = 8;

/// How often a whole job may be refused before its cargo fails.
pub const MAX_JOB_REFUSALS: u32 = 3;

/// The backoff after the first attempt, the second and so on. The last one repeats.
const BACKOFF_MINUTES: [i64; 5] = [1, 5, 15, 30, 60];

/// The backoff after each attempt.
pub fn backoff_delays() -> impl Iterator<Item = TimeDelta> {
    BACKOFF_MINUTES.into_iter().map(TimeDelta::minutes)
}

/// Whether a cargo has used all its attempts.
pub const fn is_exhausted(attempt: u32) -> bool {
    attempt >= MAX_ATTEMPTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::REALTIME_FALLBACK_AGE;

    #[test]
    fn backoff_grows_and_ends_before_the_realtime_fallback() {
        let rests: Vec<_> = backoff_delays().collect();
        assert!(rests.is_sorted());
        let last = rests.last().copied().unwrap_or_default();
        let more = i32::try_from(MAX_ATTEMPTS).unwrap() - 1 - i32::try_from(rests.len()).unwrap();
        let all = rests.iter().sum::<TimeDelta>() + last * more;
        assert_eq!(all, TimeDelta::minutes(231));
        assert!(all < REALTIME_FALLBACK_AGE);
    }
}
