//! A cached key.

use std::net::IpAddr;

use domain::api_key::ApiKeyStatus;
use domain::time::Timestamp;
use parking_lot::Mutex;
use store::control::api_key::ApiKeyPrincipal;

use crate::caller::Caller;

#[derive(Debug)]
pub(super) struct CachedKey {
    caller: Caller,
    key_status: ApiKeyStatus,
    /// Locked for a few instructions per request.
    last_use: Mutex<LastUse>,
}

#[derive(Debug)]
struct LastUse {
    at: Timestamp,
    address: Option<IpAddr>,
    /// Whether a use is queued to be written.
    is_queued: bool,
}

impl CachedKey {
    pub(super) fn new(holder: &ApiKeyPrincipal) -> Self {
        Self {
            caller: Caller::from_principal(holder),
            key_status: holder.status,
            last_use: Mutex::new(LastUse {
                at: Timestamp::MIN_UTC,
                address: None,
                is_queued: false,
            }),
        }
    }

    pub(super) const fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(super) const fn key_status(&self) -> ApiKeyStatus {
        self.key_status
    }

    /// Returns whether the key must be queued, which is so for the first use since the last write.
    pub(super) fn record_use(&self, now: Timestamp, address: Option<IpAddr>) -> bool {
        let mut last = self.last_use.lock();
        if now >= last.at {
            (last.at, last.address) = (now, address);
        }
        !std::mem::replace(&mut last.is_queued, true)
    }

    /// Returns whether the key was not queued before.
    pub(super) fn try_queue(&self) -> bool {
        !std::mem::replace(&mut self.last_use.lock().is_queued, true)
    }

    /// Marks the key as not queued, and returns the use to write.
    pub(super) fn take_use(&self) -> (Timestamp, Option<IpAddr>) {
        let mut last = self.last_use.lock();
        last.is_queued = false;
        (last.at, last.address)
    }
}
