//! Fixed windows: loads are counted per minute and per hour, and each window starts at zero.

use crate::plan_limits::Backstop;

const MINUTE_MICROS: i64 = 60_000_000;
const HOUR_MICROS: i64 = 60 * MINUTE_MICROS;

/// What one project has loaded in this minute and in this hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FixedWindows {
    minute: FixedWindow,
    hour: FixedWindow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct FixedWindow {
    number: i64,
    count: u64,
}

impl FixedWindows {
    /// Admits as many of the wanted loads as both windows have room for, and returns how many.
    ///
    /// Loads that are not admitted do not count, so the next minute starts empty.
    /// `weight`: 1, or the number of nodes that share the windows without seeing each other.
    pub fn admit(&mut self, backstop: Backstop, wanted: u32, weight: u32, now: i64) -> u32 {
        self.minute.advance(now.div_euclid(MINUTE_MICROS));
        self.hour.advance(now.div_euclid(HOUR_MICROS));
        let room = self.minute.room(backstop.per_minute, weight);
        let room = room.min(self.hour.room(backstop.per_hour, weight));
        let let_through = u32::try_from(room).unwrap_or(u32::MAX).min(wanted);
        self.minute.count += u64::from(let_through);
        self.hour.count += u64::from(let_through);
        let_through
    }
}

impl FixedWindow {
    const fn advance(&mut self, number: i64) {
        if self.number != number {
            *self = Self { number, count: 0 };
        }
    }

    fn room(self, limit: u32, weight: u32) -> u64 {
        // A share of less than one would never admit a load.
        let share = (limit / weight.max(1)).max(1);
        u64::from(share).saturating_sub(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKSTOP: Backstop = Backstop {
        per_minute: 10,
        per_hour: 25,
    };

    #[test]
    fn a_minute_and_an_hour_have_their_own_ends() {
        let mut windows = FixedWindows::default();
        let mut count = |wanted, now| windows.admit(BACKSTOP, wanted, 1, now);
        assert_eq!(count(7, 5 * HOUR_MICROS), 7);
        assert_eq!(count(7, 5 * HOUR_MICROS + MINUTE_MICROS - 1), 3);
        assert_eq!(count(1, 5 * HOUR_MICROS + MINUTE_MICROS - 1), 0);
        assert_eq!(count(20, 5 * HOUR_MICROS + MINUTE_MICROS), 10);
        assert_eq!(count(20, 5 * HOUR_MICROS + 2 * MINUTE_MICROS), 5);
        assert_eq!(count(20, 5 * HOUR_MICROS + 3 * MINUTE_MICROS), 0);
        assert_eq!(count(20, 6 * HOUR_MICROS), 10);
    }

    #[test]
    fn nodes_that_do_not_see_each_other_have_equal_parts() {
        let mut windows = FixedWindows::default();
        assert_eq!(windows.admit(BACKSTOP, 20, 3, 0), 3);
        let mut windows = FixedWindows::default();
        assert_eq!(windows.admit(BACKSTOP, 20, 1_000, 0), 1);
    }
}
