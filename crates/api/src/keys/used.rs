//! Uses of keys that wait to be written: one entry a key, however often it was used.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::id::KeyId;
use domain::time::Timestamp;

use crate::keys::known::Known;

/// More are not kept while control is away: a last use is for people to look at.
const KEPT: usize = 500_000;

#[derive(Debug, Default)]
pub(super) struct Used {
    // Taken once per key and flush, not once per request.
    waiting: Mutex<Vec<Arc<Known>>>,
}

/// A use that was taken to be written.
#[derive(Debug)]
pub(super) struct Use {
    known: Arc<Known>,
    at: Timestamp,
}

impl Use {
    pub(super) fn row(&self) -> (KeyId, Timestamp) {
        (self.known.caller().key, self.at)
    }
}

impl Used {
    pub(super) fn note(&self, known: &Arc<Known>, now: Timestamp) {
        if known.use_at(now) {
            self.push(known);
        }
    }

    pub(super) fn take(&self) -> Vec<Use> {
        let waiting = std::mem::take(&mut *self.waiting());
        waiting
            .into_iter()
            .map(|known| Use {
                at: known.take_use(),
                known,
            })
            .collect()
    }

    /// For those that were taken and not written. One that was used since is queued already.
    pub(super) fn put_back(&self, unwritten: &[Use]) {
        for Use { known, .. } in unwritten {
            if known.queue() {
                self.push(known);
            }
        }
    }

    fn push(&self, known: &Arc<Known>) {
        let mut waiting = self.waiting();
        if waiting.len() < KEPT {
            waiting.push(Arc::clone(known));
        } else {
            known.take_use();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Arc<Known>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
