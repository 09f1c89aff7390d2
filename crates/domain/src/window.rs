//! Fixed windows: so many in each minute and in each hour, counted anew when the next begins.

use crate::limit::Backstop;

const MINUTE: i64 = 60_000_000;
const HOUR: i64 = 60 * MINUTE;

/// What one project has loaded in this minute and in this hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Windows {
    minute: Window,
    hour: Window,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Window {
    number: i64,
    count: u64,
}

impl Windows {
    /// Lets through as many of the wanted loads as both windows have room for, and says how many.
    ///
    /// Those that are not let through do not count: who waits for the next minute finds it free.
    /// `weight`: 1, or the number of nodes that share the windows without seeing each other.
    pub fn count(&mut self, backstop: Backstop, wanted: u32, weight: u32, now: i64) -> u32 {
        self.minute.move_on(now.div_euclid(MINUTE));
        self.hour.move_on(now.div_euclid(HOUR));
        let room = self.minute.room(backstop.per_minute, weight);
        let room = room.min(self.hour.room(backstop.per_hour, weight));
        let let_through = u32::try_from(room).unwrap_or(u32::MAX).min(wanted);
        self.minute.count += u64::from(let_through);
        self.hour.count += u64::from(let_through);
        let_through
    }
}

impl Window {
    const fn move_on(&mut self, number: i64) {
        if self.number != number {
            *self = Self { number, count: 0 };
        }
    }

    fn room(self, limit: u32, weight: u32) -> u64 {
        // A share of less than one would let nobody through, ever.
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
        let mut windows = Windows::default();
        let mut count = |wanted, now| windows.count(BACKSTOP, wanted, 1, now);
        assert_eq!(count(7, 5 * HOUR), 7);
        assert_eq!(count(7, 5 * HOUR + MINUTE - 1), 3);
        assert_eq!(count(1, 5 * HOUR + MINUTE - 1), 0);
        assert_eq!(count(20, 5 * HOUR + MINUTE), 10);
        assert_eq!(count(20, 5 * HOUR + 2 * MINUTE), 5);
        assert_eq!(count(20, 5 * HOUR + 3 * MINUTE), 0);
        assert_eq!(count(20, 6 * HOUR), 10);
    }

    #[test]
    fn nodes_that_do_not_see_each_other_have_equal_parts() {
        let mut windows = Windows::default();
        assert_eq!(windows.count(BACKSTOP, 20, 3, 0), 3);
        let mut windows = Windows::default();
        assert_eq!(windows.count(BACKSTOP, 20, 1_000, 0), 1);
    }
}
