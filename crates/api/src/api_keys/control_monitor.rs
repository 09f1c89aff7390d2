//! Tracks when control last answered, and whether to query it now.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use domain::time::Timestamp;

use crate::api_keys::ControlStatus;

/// After a failed query, the next one is made after this delay.
const RETRY_DELAY_MICROS: i64 = 1_000_000;
const NEVER: i64 = i64::MIN;

#[derive(Debug)]
pub(super) struct ControlMonitor {
    stale_after_micros: i64,
    /// Microseconds since the epoch.
    last_feed_read: AtomicI64,
    is_unreachable: AtomicBool,
    retry_at: AtomicI64,
}

impl ControlMonitor {
    pub(super) fn new(stale: Duration) -> Self {
        Self {
            stale_after_micros: i64::try_from(stale.as_micros()).unwrap_or(i64::MAX),
            last_feed_read: AtomicI64::new(NEVER),
            is_unreachable: AtomicBool::new(false),
            retry_at: AtomicI64::new(NEVER),
        }
    }

    /// Whether cached keys are still valid.
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        let last_seen = self.last_feed_read.load(Ordering::Relaxed);
        last_seen != NEVER
            && now.timestamp_micros().saturating_sub(last_seen) <= self.stale_after_micros
    }

    /// While control is unreachable, one query per delay tests whether it is back. The other
    /// requests fail at once instead of waiting for a timeout.
    pub(super) fn may_query(&self, now: Timestamp) -> bool {
        let now = now.timestamp_micros();
        !self.is_unreachable.load(Ordering::Relaxed)
            || self
                .retry_at
                .try_update(Ordering::Relaxed, Ordering::Relaxed, |at| {
                    (at <= now).then(|| now.saturating_add(RETRY_DELAY_MICROS))
                })
                .is_ok()
    }

    /// The feed was read to its end at `now`. Returns whether control was unreachable before.
    pub(super) fn record_feed_read(&self, now: Timestamp) -> bool {
        self.last_feed_read
            .fetch_max(now.timestamp_micros(), Ordering::Relaxed);
        self.is_unreachable.swap(false, Ordering::Relaxed)
    }

    /// A lookup was answered. That does not make cached keys fresh.
    pub(super) fn record_answer(&self) {
        self.is_unreachable.store(false, Ordering::Relaxed);
    }

    /// Returns whether control was reachable before.
    pub(super) fn record_failure(&self, now: Timestamp) -> bool {
        let retry_at = now.timestamp_micros().saturating_add(RETRY_DELAY_MICROS);
        self.retry_at.fetch_max(retry_at, Ordering::Relaxed);
        !self.is_unreachable.swap(true, Ordering::Relaxed)
    }

    pub(super) fn is_unreachable(&self) -> bool {
        self.is_unreachable.load(Ordering::Relaxed)
    }

    pub(super) fn status(&self, now: Timestamp) -> ControlStatus {
        let last_seen = self.last_feed_read.load(Ordering::Relaxed);
        ControlStatus {
            last_seen: (last_seen != NEVER)
                .then(|| Timestamp::from_timestamp_micros(last_seen).unwrap_or_default()),
            is_unreachable: self.is_unreachable(),
            is_stale: !self.is_fresh(now),
        }
    }
}
