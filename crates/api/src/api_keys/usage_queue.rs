//! Key uses that wait to be written: one entry per key, however often it was used.

use std::net::IpAddr;
use std::sync::Arc;

use domain::time::Timestamp;
use parking_lot::Mutex;
use store::control::api_key::KeyUseRow;

use crate::api_keys::cached_key::CachedKey;

/// Further uses are dropped while control is unreachable: `last_used_at` is only informative.
const MAX_QUEUED_USES: usize = 500_000;

#[derive(Debug, Default)]
pub(super) struct KeyUsageQueue {
    // Locked once per key and flush, not once per request.
    queued: Mutex<Vec<Arc<CachedKey>>>,
}

/// A use that is being written.
#[derive(Debug)]
pub(super) struct KeyUse {
    key: Arc<CachedKey>,
    at: Timestamp,
    address: Option<IpAddr>,
}

impl KeyUse {
    pub(super) fn row(&self) -> KeyUseRow {
        KeyUseRow {
            key: self.key.caller().key,
            at: self.at,
            address: self.address,
        }
    }
}

impl KeyUsageQueue {
    pub(super) fn record(&self, known: &Arc<CachedKey>, now: Timestamp, from: Option<IpAddr>) {
        if known.record_use(now, from) {
            self.push(known);
        }
    }

    pub(super) fn take(&self) -> Vec<KeyUse> {
        let waiting = std::mem::take(&mut *self.queued.lock());
        waiting
            .into_iter()
            .map(|known| {
                let (at, address) = known.take_use();
                KeyUse {
                    key: known,
                    at,
                    address,
                }
            })
            .collect()
    }

    /// Queues uses again that could not be written. A key that was used since is already queued.
    pub(super) fn put_back(&self, unwritten: &[KeyUse]) {
        for KeyUse { key: known, .. } in unwritten {
            if known.try_queue() {
                self.push(known);
            }
        }
    }

    fn push(&self, known: &Arc<CachedKey>) {
        let mut waiting = self.queued.lock();
        if waiting.len() < MAX_QUEUED_USES {
            waiting.push(Arc::clone(known));
        } else {
            known.take_use();
        }
    }
}
