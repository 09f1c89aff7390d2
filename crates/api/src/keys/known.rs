//! One key as this node remembers it.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use domain::api_key::Standing;
use domain::time::Timestamp;
use store::control::api_key::Holder;

use crate::caller::Caller;

#[derive(Debug)]
pub(super) struct Known {
    caller: Caller,
    standing: Standing,
    /// Microseconds of the last use.
    used_at: AtomicI64,
    /// Whether a use waits to be written.
    is_waiting: AtomicBool,
}

impl Known {
    pub(super) fn new(holder: &Holder) -> Self {
        Self {
            caller: Caller::holding(holder),
            standing: holder.standing,
            used_at: AtomicI64::new(i64::MIN),
            is_waiting: AtomicBool::new(false),
        }
    }

    pub(super) const fn caller(&self) -> Caller {
        self.caller
    }

    pub(super) const fn standing(&self) -> Standing {
        self.standing
    }

    /// Says whether this is the first use since the last was taken to be written.
    ///
    /// User and writer each write one of the two and then read the other. In the one
    /// order that all of this agrees on, a use is seen by the writer, or it sees
    /// that it must queue: none is forgotten.
    pub(super) fn use_at(&self, now: Timestamp) -> bool {
        self.used_at
            .fetch_max(now.timestamp_micros(), Ordering::SeqCst);
        self.queue()
    }

    /// Says whether it was not queued before.
    pub(super) fn queue(&self) -> bool {
        !self.is_waiting.load(Ordering::SeqCst) && !self.is_waiting.swap(true, Ordering::SeqCst)
    }

    /// The moment to be written.
    pub(super) fn take_use(&self) -> Timestamp {
        self.is_waiting.store(false, Ordering::SeqCst);
        let micros = self.used_at.load(Ordering::SeqCst);
        Timestamp::from_timestamp_micros(micros).unwrap_or_default()
    }
}
