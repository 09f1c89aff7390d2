//! The clock of one database, estimated from this host's clock and a measured offset.
//!
//! All times are the database's, so that nodes agree even when their hosts' clocks differ. A time
//! that the database reports is a little old when it arrives, never early, so the largest of the
//! recent offsets is the most accurate.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use domain::time::{Clock, Timestamp};
use parking_lot::Mutex;

/// A measured offset counts for one to two windows.
const OFFSET_WINDOW_MICROS: i64 = 30_000_000;

/// This host's clock with an offset to one database.
#[derive(Debug)]
pub struct DatabaseClock {
    /// Time is measured from the start, so that setting the host's clock has no effect.
    started: Instant,
    started_at: i64,
    offset: AtomicI64,
    offsets: Mutex<MeasuredOffsets>,
    speed: Option<ClockSpeed>,
}

/// For tests: from a moment on, time passes so many times faster. All processes need the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockSpeed {
    rate: i64,
    since_micros: i64,
}

impl ClockSpeed {
    /// Reads "60@1763380000000000": a rate and a Unix time in microseconds.
    pub fn parse(text: &str) -> Option<Self> {
        let (rate, since_micros) = text.split_once('@')?;
        let speed = Self {
            rate: rate.parse().ok()?,
            since_micros: since_micros.parse().ok()?,
        };
        let is_valid = (1..=3600).contains(&speed.rate) && speed.since_micros >= 0;
        is_valid.then_some(speed)
    }

    const fn apply(self, micros: i64) -> i64 {
        let passed = micros.saturating_sub(self.since_micros);
        if passed <= 0 {
            return micros;
        }
        self.since_micros
            .saturating_add(passed.saturating_mul(self.rate))
    }
}

impl DatabaseClock {
    pub fn new() -> Self {
        Self::with_speed(None)
    }

    pub fn with_speed(speed: Option<ClockSpeed>) -> Self {
        Self {
            started: Instant::now(),
            started_at: host_micros(),
            offset: AtomicI64::new(0),
            offsets: Mutex::default(),
            speed,
        }
    }

    /// How far the database is ahead of this host, in seconds.
    pub fn offset_seconds(&self) -> f64 {
        let database = Timestamp::from_timestamp_micros(self.database_micros());
        (database.unwrap_or_default() - host_now()).as_seconds_f64()
    }

    fn database_micros(&self) -> i64 {
        let offset = self.offset.load(Ordering::Relaxed);
        self.local_micros().saturating_add(offset)
    }

    fn local_micros(&self) -> i64 {
        let elapsed = i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.started_at.saturating_add(elapsed)
    }
}

impl Clock for DatabaseClock {
    fn now(&self) -> Timestamp {
        let micros = self.database_micros();
        let micros = self.speed.map_or(micros, |speed| speed.apply(micros));
        Timestamp::from_timestamp_micros(micros).unwrap_or_default()
    }

    fn synchronize(&self, reported: Timestamp) {
        let local = self.local_micros();
        let mut learned = self.offsets.lock();
        let offset = learned.record(local, reported.timestamp_micros().saturating_sub(local));
        self.offset.store(offset, Ordering::Relaxed);
    }
}

/// A clock that never advances.
#[derive(Debug)]
pub struct FrozenClock(pub i64);

impl Clock for FrozenClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_timestamp_micros(self.0).unwrap_or_default()
    }

    fn synchronize(&self, _reported: Timestamp) {}
}

/// The largest offsets of this window and of the previous one.
#[derive(Debug, Default)]
struct MeasuredOffsets {
    window: Option<i64>,
    current: Option<i64>,
    previous: Option<i64>,
}

impl MeasuredOffsets {
    fn record(&mut self, local: i64, measured: i64) -> i64 {
        let window = local.div_euclid(OFFSET_WINDOW_MICROS);
        if self.window != Some(window) {
            let follows = self.window == Some(window - 1);
            self.previous = if follows { self.current } else { None };
            self.current = None;
            self.window = Some(window);
        }
        self.current = self.current.max(Some(measured));
        self.current.max(self.previous).unwrap_or(measured)
    }
}

/// The time of this host's clock, for comparisons with other clocks.
pub fn host_now() -> Timestamp {
    Timestamp::from_timestamp_micros(host_micros()).unwrap_or_default()
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the only reader of the host's clock"
)]
fn host_micros() -> i64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}
