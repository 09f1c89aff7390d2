//! When control was last heard, and whether it is worth asking now.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use domain::time::Timestamp;

use crate::keys::ControlContact;

/// After a question that went unanswered, one more is asked in this time.
const PAUSE: i64 = 1_000_000;
const NEVER: i64 = i64::MIN;

#[derive(Debug)]
pub(super) struct Contact {
    stale: i64,
    /// Microseconds of the last reading of the feed.
    last_seen: AtomicI64,
    away: AtomicBool,
    ask_again_at: AtomicI64,
}

impl Contact {
    pub(super) fn new(stale: Duration) -> Self {
        Self {
            stale: i64::try_from(stale.as_micros()).unwrap_or(i64::MAX),
            last_seen: AtomicI64::new(NEVER),
            away: AtomicBool::new(false),
            ask_again_at: AtomicI64::new(NEVER),
        }
    }

    /// Whether what is remembered may be believed.
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        let last_seen = self.last_seen.load(Ordering::Relaxed);
        last_seen != NEVER && now.timestamp_micros().saturating_sub(last_seen) <= self.stale
    }

    /// While control is away, one question a pause finds out whether it is back:
    /// the rest need not wait for an answer that will not come.
    pub(super) fn may_ask(&self, now: Timestamp) -> bool {
        let now = now.timestamp_micros();
        !self.away.load(Ordering::Relaxed)
            || self
                .ask_again_at
                .try_update(Ordering::Relaxed, Ordering::Relaxed, |at| {
                    (at <= now).then(|| now.saturating_add(PAUSE))
                })
                .is_ok()
    }

    /// The feed was read to its end by this moment. Says whether control was away before.
    pub(super) fn seen(&self, now: Timestamp) -> bool {
        self.last_seen
            .fetch_max(now.timestamp_micros(), Ordering::Relaxed);
        self.away.swap(false, Ordering::Relaxed)
    }

    /// A lookup was answered, which says nothing about changes.
    pub(super) fn answered(&self) {
        self.away.store(false, Ordering::Relaxed);
    }

    /// Says whether control was not known to be away before.
    pub(super) fn failed(&self, now: Timestamp) -> bool {
        let again = now.timestamp_micros().saturating_add(PAUSE);
        self.ask_again_at.fetch_max(again, Ordering::Relaxed);
        !self.away.swap(true, Ordering::Relaxed)
    }

    pub(super) fn is_away(&self) -> bool {
        self.away.load(Ordering::Relaxed)
    }

    pub(super) fn describe(&self, now: Timestamp) -> ControlContact {
        let last_seen = self.last_seen.load(Ordering::Relaxed);
        ControlContact {
            last_seen: (last_seen != NEVER)
                .then(|| Timestamp::from_timestamp_micros(last_seen).unwrap_or_default()),
            away: self.is_away(),
            stale: !self.is_fresh(now),
        }
    }
}
