//! How the limiter stands with Redis, for whoever looks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How Redis was last seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedisContact {
    NotYet,
    Answers { latency: Duration },
    Away,
}

const NEVER: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Status {
    is_wanted: bool,
    is_away: AtomicBool,
    /// Microseconds of the last call.
    latency: AtomicU64,
    fallbacks: AtomicU64,
}

impl Status {
    pub(super) fn new(is_wanted: bool) -> Self {
        metrics::gauge!("limiter_breaker_open").set(0.0);
        Self {
            is_wanted,
            is_away: AtomicBool::new(false),
            latency: AtomicU64::new(NEVER),
            fallbacks: AtomicU64::new(0),
        }
    }

    pub(super) fn contact(&self) -> Option<RedisContact> {
        let latency = self.latency.load(Ordering::Relaxed);
        let contact = if self.is_away.load(Ordering::Relaxed) {
            RedisContact::Away
        } else if latency == NEVER {
            RedisContact::NotYet
        } else {
            let latency = Duration::from_micros(latency);
            RedisContact::Answers { latency }
        };
        self.is_wanted.then_some(contact)
    }

    pub(super) fn fallbacks(&self) -> u64 {
        self.fallbacks.load(Ordering::Relaxed)
    }

    pub(super) fn answered(&self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(NEVER - 1);
        self.latency.store(micros, Ordering::Relaxed);
    }

    pub(super) fn went_away(&self) {
        self.is_away.store(true, Ordering::Relaxed);
        metrics::gauge!("limiter_breaker_open").set(1.0);
    }

    pub(super) fn came_back(&self) {
        self.is_away.store(false, Ordering::Relaxed);
        metrics::gauge!("limiter_breaker_open").set(0.0);
    }

    /// So many asks were answered by this process alone.
    pub(super) fn fell_back(&self, asks: u64) {
        if self.is_wanted {
            self.fallbacks.fetch_add(asks, Ordering::Relaxed);
            metrics::counter!("limiter_fallback_total").increment(asks);
        }
    }
}
