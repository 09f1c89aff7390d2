//! The turn of a group: one group is prepared at a time, so that the next one grows meanwhile.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// A group that takes longer to prepare is over a slow connection, or waits for a lock. It does
/// not delay the next group.
const MAX_TURN: Duration = Duration::from_millis(20);

/// Gives one turn at a time.
#[derive(Debug)]
pub(super) struct WriteTurns(Arc<Semaphore>);

/// Ends when it is dropped.
#[derive(Debug)]
pub(super) struct WriteTurn(Option<OwnedSemaphorePermit>);

impl WriteTurns {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }

    /// Waits until no other group is being prepared.
    pub(super) async fn take(&self) -> WriteTurn {
        WriteTurn(Arc::clone(&self.0).acquire_owned().await.ok())
    }
}

impl WriteTurn {
    /// The next group may start.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }

    /// Prepares a group, and ends the turn if that takes long.
    pub(super) async fn hold_while<T>(&mut self, preparing: impl Future<Output = T>) -> T {
        let mut preparing = std::pin::pin!(preparing);
        if let Ok(prepared) = timeout(MAX_TURN, preparing.as_mut()).await {
            return prepared;
        }
        self.end();
        preparing.await
    }
}
