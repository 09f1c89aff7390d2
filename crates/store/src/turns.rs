//! Turns at something of which only a few may be under way.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

#[derive(Debug)]
pub struct Turns {
    free: Semaphore,
    waiting: AtomicUsize,
}

impl Turns {
    pub(crate) const fn new(at_once: usize) -> Self {
        Self {
            free: Semaphore::const_new(at_once),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Waits for a turn, which ends when it is dropped. Nobody closes the semaphore.
    pub(crate) async fn take(&self) -> Option<SemaphorePermit<'_>> {
        if let Ok(turn) = self.free.try_acquire() {
            return Some(turn);
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        self.free.acquire().await.ok()
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
