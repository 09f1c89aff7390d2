//! A cached key.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use domain::api_key::ApiKeyStatus;
use domain::time::Timestamp;
use store::control::api_key::ApiKeyPrincipal;

use crate::caller::Caller;

#[derive(Debug)]
pub(super) struct CachedKey {
    caller: Caller,
    key_status: ApiKeyStatus,
    last_used_micros: AtomicI64,
    /// Whether a use is queued to be written.
    is_queued: AtomicBool,
}

impl CachedKey {
    pub(super) fn new(holder: &ApiKeyPrincipal) -> Self {
        Self {
            caller: Caller::from_principal(holder),
            key_status: holder.status,
            last_used_micros: AtomicI64::new(i64::MIN),
            is_queued: AtomicBool::new(false),
        }
    }

    pub(super) const fn caller(&self) -> Caller {
        self.caller
    }

    pub(super) const fn key_status(&self) -> ApiKeyStatus {
        self.key_status
    }

    /// Returns whether the key must be queued, which is so for the first use since the last write.
    ///
    /// This method and `take_use` each write one of the two atomics and then read the other.
    /// With sequential consistency either `take_use` reads the new time, or this method sees
    /// that the key is no longer queued. So no use is lost.
    pub(super) fn record_use(&self, now: Timestamp) -> bool {
        self.last_used_micros
            .fetch_max(now.timestamp_micros(), Ordering::SeqCst);
        self.try_queue()
    }

    /// Returns whether the key was not queued before.
    pub(super) fn try_queue(&self) -> bool {
        !self.is_queued.load(Ordering::SeqCst) && !self.is_queued.swap(true, Ordering::SeqCst)
    }

    /// Marks the key as not queued, and returns the time to write.
    pub(super) fn take_use(&self) -> Timestamp {
        self.is_queued.store(false, Ordering::SeqCst);
        let micros = self.last_used_micros.load(Ordering::SeqCst);
        Timestamp::from_timestamp_micros(micros).unwrap_or_default()
    }
}
