//! What a provider did not answer goes again: after a rest, and not for ever.

use chrono::TimeDelta;

/// So often a cargo goes to a provider that says of it, and of it alone, that it cannot answer.
pub const MOST_ATTEMPTS: u32 = 8;

/// So often a whole job may be refused before its cargo fails.
pub const MOST_REFUSALS: u32 = 3;

/// Minutes of rest after the first attempt, the second and so on; the last is for all that follow.
const RESTS: [i64; 5] = [1, 5, 15, 30, 60];

/// The rests after each attempt.
pub fn rests() -> impl Iterator<Item = TimeDelta> {
    RESTS.into_iter().map(TimeDelta::minutes)
}

/// Whether a cargo has gone often enough.
pub const fn is_enough(attempt: u32) -> bool {
    attempt >= MOST_ATTEMPTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::URGENT;

    #[test]
    fn rests_grow_and_end_before_it_is_urgent() {
        let rests: Vec<_> = rests().collect();
        assert!(rests.is_sorted());
        let last = rests.last().copied().unwrap_or_default();
        let more = i32::try_from(MOST_ATTEMPTS).unwrap() - 1 - i32::try_from(rests.len()).unwrap();
        let all = rests.iter().sum::<TimeDelta>() + last * more;
        assert_eq!(all, TimeDelta::minutes(231));
        assert!(all < URGENT);
    }
}
