//! The clock of one database, as near as this process can know it without asking.
//!
//! Moments are the database's own, so that nodes agree whatever their hosts
//! say. What the database tells is always a little old when it arrives, never
//! early: of the offsets measured lately the largest is the nearest to the truth.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use domain::time::{Clock, Timestamp};

/// How long a measured offset counts, in microseconds: from one to two windows.
const WINDOW: i64 = 30_000_000;

/// This machine's clock and its offset to one database.
#[derive(Debug)]
pub struct SystemClock {
    /// Time is counted from the start, so that setting the host's clock moves nothing.
    started: Instant,
    started_at: i64,
    offset: AtomicI64,
    learned: Mutex<Learned>,
}

impl SystemClock {
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            started_at: host_micros(),
            offset: AtomicI64::new(0),
            learned: Mutex::default(),
        }
    }

    /// How far the database is ahead of this host, in seconds.
    pub fn offset_seconds(&self) -> f64 {
        (self.now() - host_now()).as_seconds_f64()
    }

    fn local(&self) -> i64 {
        let elapsed = i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.started_at.saturating_add(elapsed)
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let micros = self
            .local()
            .saturating_add(self.offset.load(Ordering::Relaxed));
        Timestamp::from_timestamp_micros(micros).unwrap_or_default()
    }

    fn learn(&self, told: Timestamp) {
        let local = self.local();
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = learned.learn(local, told.timestamp_micros().saturating_sub(local));
        self.offset.store(offset, Ordering::Relaxed);
    }
}

/// A clock that stands still.
#[derive(Debug)]
pub struct Held(pub i64);

impl Clock for Held {
    fn now(&self) -> Timestamp {
        Timestamp::from_timestamp_micros(self.0).unwrap_or_default()
    }

    fn learn(&self, _told: Timestamp) {}
}

/// The largest offset of this window and of the one before.
#[derive(Debug, Default)]
struct Learned {
    window: Option<i64>,
    current: Option<i64>,
    previous: Option<i64>,
}

impl Learned {
    fn learn(&mut self, local: i64, measured: i64) -> i64 {
        let window = local.div_euclid(WINDOW);
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

/// What this host's own clock says, for who compares it with others.
pub fn host_now() -> Timestamp {
    Timestamp::from_timestamp_micros(host_micros()).unwrap_or_default()
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one reader of the host's clock"
)]
fn host_micros() -> i64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}
