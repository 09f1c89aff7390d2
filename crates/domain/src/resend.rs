//! Resending many callbacks at once, with a slow start.

/// The highest rate that may be requested.
pub const MAX_RESENDS_PER_SECOND: u32 = 1000;

/// How many callbacks to send in the next second, after `sent` so far: 1, 2, 4 and so on, up to
/// `per_second`.
pub fn next_second_count(sent: u64, per_second: u32) -> u32 {
    let doubled = u32::try_from(sent.saturating_add(1)).unwrap_or(u32::MAX);
    doubled.min(per_second.clamp(1, MAX_RESENDS_PER_SECOND))
}

/// About how many seconds `total` callbacks take.
pub fn estimate_seconds(total: u64, per_second: u32) -> u64 {
    let (mut sent, mut seconds) = (0, 0);
    // The slow start is short: each second sends twice as many.
    while sent < total
        && next_second_count(sent, per_second) < per_second.clamp(1, MAX_RESENDS_PER_SECOND)
    {
        sent += u64::from(next_second_count(sent, per_second));
        seconds += 1;
    }
    let rest = total.saturating_sub(sent);
    seconds + rest.div_ceil(u64::from(per_second.clamp(1, MAX_RESENDS_PER_SECOND)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_it_takes_is_known_beforehand() {
        let told = [(0, 10), (1, 10), (15, 10), (16, 10), (35, 10), (7, 1)];
        let told = told.map(|(total, per_second)| super::estimate_seconds(total, per_second));
        assert_eq!(told, [0, 1, 4, 5, 6, 7]);
    }

    fn seconds(per_second: u32, count: usize) -> Vec<u32> {
        let mut sent = 0;
        let step = || {
            let more = next_second_count(sent, per_second);
            sent += u64::from(more);
            more
        };
        std::iter::repeat_with(step).take(count).collect()
    }

    #[test]
    fn each_second_sends_twice_as_many_until_it_is_enough() {
        assert_eq!(seconds(10, 7), [1, 2, 4, 8, 10, 10, 10]);
        assert_eq!(seconds(1, 3), [1, 1, 1]);
        assert_eq!(seconds(0, 2), [1, 1]);
        assert_eq!(
            next_second_count(u64::MAX, u32::MAX),
            MAX_RESENDS_PER_SECOND
        );
    }
}
