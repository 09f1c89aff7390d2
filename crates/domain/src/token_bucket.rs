//! A token bucket in whole numbers: nothing is rounded, so nothing adds up to a token too many.
//!
//! One request is [`UNITS_PER_REQUEST`] units, and a bucket gains `per_minute` units each
//! microsecond. Up to [`crate::plan_limits::MAX_BURST`] requests, a level fits into the
//! 53 bits that a Redis script has for whole numbers. So the script and this file
//! compute the same level, unit for unit.

use crate::plan_limits::RateLimit;

#[cfg(test)]
mod tests;

/// The units of one request: the microseconds of a minute.
pub const UNITS_PER_REQUEST: u64 = 60_000_000;

const MICROS_PER_SECOND: u64 = 1_000_000;

/// One organization's bucket at a time, in microseconds of one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    pub level: BucketLevel,
    pub at: i64,
}

/// The content of a bucket, in units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BucketLevel(pub u64);

impl TokenBucket {
    pub const fn full(rate: RateLimit, now: i64) -> Self {
        Self {
            level: BucketLevel::full(rate),
            at: now,
        }
    }

    /// Adds the refill since the last call. A clock that was set back adds nothing, and its time is
    /// taken over.
    pub fn refill(&mut self, rate: RateLimit, now: i64) {
        let elapsed = u64::try_from(now.saturating_sub(self.at)).unwrap_or(0);
        let gained = elapsed.saturating_mul(u64::from(rate.per_minute));
        self.level = self.level.plus(gained, rate);
        self.at = now;
    }

    /// Takes as many of the wanted requests as the bucket has, and returns how many.
    ///
    /// `weight`: how much one request takes. It is 1, or the number of nodes that share the
    /// limit without seeing each other's requests. Then each has its part of burst and refill.
    pub fn take(&mut self, wanted: u32, weight: u32) -> u32 {
        let each = weighted_units(weight);
        let granted = u32::try_from(self.level.0 / each)
            .unwrap_or(u32::MAX)
            .min(wanted);
        let taken = each.saturating_mul(u64::from(granted));
        self.level = BucketLevel(self.level.0.saturating_sub(taken));
        granted
    }

    /// Returns requests that were not carried out. What exceeds the burst is lost.
    pub fn refund(&mut self, rate: RateLimit, count: u32, weight: u32) {
        let given = weighted_units(weight).saturating_mul(u64::from(count));
        self.level = self.level.plus(given, rate);
    }

    /// Takes requests that were already spent elsewhere. The level never becomes negative.
    pub fn debit(&mut self, count: u32) {
        let owed = UNITS_PER_REQUEST.saturating_mul(u64::from(count));
        self.level = BucketLevel(self.level.0.saturating_sub(owed));
    }
}

impl BucketLevel {
    pub const fn full(rate: RateLimit) -> Self {
        // Lossless; `From` is not const.
        Self(rate.burst as u64 * UNITS_PER_REQUEST)
    }

    /// Whole requests.
    pub fn requests(self, weight: u32) -> u32 {
        u32::try_from(self.0 / weighted_units(weight)).unwrap_or(u32::MAX)
    }

    /// Seconds until the next request would be granted, at least one: one second less is too soon.
    pub fn retry_after(self, rate: RateLimit, weight: u32) -> u64 {
        refill_seconds(weighted_units(weight).saturating_sub(self.0), rate).max(1)
    }

    /// Seconds until this many requests have been granted, if each is sent as soon as it can be.
    pub fn seconds_for(self, requests: u64, rate: RateLimit, weight: u32) -> u64 {
        let needed = weighted_units(weight).saturating_mul(requests);
        refill_seconds(needed.saturating_sub(self.0), rate)
    }

    /// Seconds until the bucket is full.
    pub fn until_full(self, rate: RateLimit) -> u64 {
        refill_seconds(Self::full(rate).0.saturating_sub(self.0), rate)
    }

    fn plus(self, gained: u64, rate: RateLimit) -> Self {
        Self(self.0.saturating_add(gained)).min(Self::full(rate))
    }
}

fn weighted_units(weight: u32) -> u64 {
    UNITS_PER_REQUEST.saturating_mul(u64::from(weight.max(1)))
}

fn refill_seconds(missing: u64, rate: RateLimit) -> u64 {
    let a_second = u64::from(rate.per_minute.max(1)).saturating_mul(MICROS_PER_SECOND);
    missing.div_ceil(a_second)
}
