//! A bound on how many tasks do the same thing at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

#[derive(Debug)]
pub struct ConcurrencySlots {
    free: Semaphore,
    waiting: AtomicUsize,
}

impl ConcurrencySlots {
    pub(crate) const fn new(slots: usize) -> Self {
        Self {
            free: Semaphore::const_new(slots),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Waits for a slot. Dropping the permit frees the slot. The semaphore is never closed.
    pub(crate) async fn acquire(&self) -> Option<SemaphorePermit<'_>> {
        if let Ok(turn) = self.free.try_acquire() {
            return Some(turn);
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = WaitingGuard(&self.waiting);
        self.free.acquire().await.ok()
    }

    /// How many tasks wait for a slot.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

struct WaitingGuard<'a>(&'a AtomicUsize);

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
