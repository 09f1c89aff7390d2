//! A token bucket in whole numbers: nothing is rounded, so nothing adds up to a token too many.
//!
//! One request is [`REQUEST`] units, and a bucket gains `per_minute` units each
//! microsecond. Up to [`crate::limit::MOST`] requests a level fits into the
//! 53 bits that a script has for whole numbers: the script and this file
//! come to the same level, unit for unit.

use crate::limit::Rate;

#[cfg(test)]
mod tests;

/// The units of one request: the microseconds of a minute.
pub const REQUEST: u64 = 60_000_000;

const SECOND: u64 = 1_000_000;

/// One organization's bucket as it was at a moment, in microseconds of any one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    pub level: Level,
    pub at: i64,
}

/// What is in a bucket, in units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(pub u64);

impl Bucket {
    pub const fn full(rate: Rate, now: i64) -> Self {
        Self {
            level: Level::full(rate),
            at: now,
        }
    }

    /// Gains what time has brought. A clock that was set back brings nothing, and is believed.
    pub fn refill(&mut self, rate: Rate, now: i64) {
        let elapsed = u64::try_from(now.saturating_sub(self.at)).unwrap_or(0);
        let gained = elapsed.saturating_mul(u64::from(rate.per_minute));
        self.level = self.level.and(gained, rate);
        self.at = now;
    }

    /// Takes as many of the wanted requests as there are, and says how many.
    ///
    /// `weight`: what one request takes. It is 1, or the number of nodes that share the
    /// bucket without seeing each other's takes: then each has its part of burst and refill.
    pub fn take(&mut self, wanted: u32, weight: u32) -> u32 {
        let each = weigh(weight);
        let granted = u32::try_from(self.level.0 / each)
            .unwrap_or(u32::MAX)
            .min(wanted);
        let taken = each.saturating_mul(u64::from(granted));
        self.level = Level(self.level.0.saturating_sub(taken));
        granted
    }

    /// Returns requests that came to nothing; what runs over is lost.
    pub fn give_back(&mut self, rate: Rate, count: u32, weight: u32) {
        let given = weigh(weight).saturating_mul(u64::from(count));
        self.level = self.level.and(given, rate);
    }

    /// Takes what was spent elsewhere already; nobody owes more than the bucket holds.
    pub fn debit(&mut self, count: u32) {
        let owed = REQUEST.saturating_mul(u64::from(count));
        self.level = Level(self.level.0.saturating_sub(owed));
    }
}

impl Level {
    pub const fn full(rate: Rate) -> Self {
        // Lossless; `From` is not const.
        Self(rate.burst as u64 * REQUEST)
    }

    /// Whole requests.
    pub fn requests(self, weight: u32) -> u32 {
        u32::try_from(self.0 / weigh(weight)).unwrap_or(u32::MAX)
    }

    /// Seconds until the next request would be granted, at least one: one second less is too soon.
    pub fn retry_after(self, rate: Rate, weight: u32) -> u64 {
        seconds(weigh(weight).saturating_sub(self.0), rate).max(1)
    }

    /// Seconds until the bucket is full.
    pub fn until_full(self, rate: Rate) -> u64 {
        seconds(Self::full(rate).0.saturating_sub(self.0), rate)
    }

    fn and(self, gained: u64, rate: Rate) -> Self {
        Self(self.0.saturating_add(gained)).min(Self::full(rate))
    }
}

fn weigh(weight: u32) -> u64 {
    REQUEST.saturating_mul(u64::from(weight.max(1)))
}

fn seconds(missing: u64, rate: Rate) -> u64 {
    let a_second = u64::from(rate.per_minute.max(1)).saturating_mul(SECOND);
    missing.div_ceil(a_second)
}
