//! Callbacks that are sent again, many at once: carefully at first.

/// The most that may be asked for each second.
pub const FASTEST: u32 = 1000;

/// How many follow in the next second when so many were sent: 1, 2, 4 and so on, up to
/// `per_second`.
pub fn next(sent: u64, per_second: u32) -> u32 {
    let doubled = u32::try_from(sent.saturating_add(1)).unwrap_or(u32::MAX);
    doubled.min(per_second.clamp(1, FASTEST))
}

/// About how many seconds so many take.
pub fn seconds(total: u64, per_second: u32) -> u64 {
    let (mut sent, mut seconds) = (0, 0);
    // The beginning is short: each second sends twice as many.
    while sent < total && next(sent, per_second) < per_second.clamp(1, FASTEST) {
        sent += u64::from(next(sent, per_second));
        seconds += 1;
    }
    let rest = total.saturating_sub(sent);
    seconds + rest.div_ceil(u64::from(per_second.clamp(1, FASTEST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_it_takes_is_known_beforehand() {
        let told = [(0, 10), (1, 10), (15, 10), (16, 10), (35, 10), (7, 1)];
        let told = told.map(|(total, per_second)| super::seconds(total, per_second));
        assert_eq!(told, [0, 1, 4, 5, 6, 7]);
    }

    fn seconds(per_second: u32, count: usize) -> Vec<u32> {
        let mut sent = 0;
        let step = || {
            let more = next(sent, per_second);
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
        assert_eq!(next(u64::MAX, u32::MAX), FASTEST);
    }
}
