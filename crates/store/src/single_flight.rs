//! One task reads what many wait for, such as the first loads of a process.

use std::future::Future;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;

use crate::Error;
use crate::pool::ACQUIRE_TIMEOUT;

/// Without it, the tasks would queue for all connections, and the last would wait too long.
#[derive(Debug, Default)]
pub struct SingleFlight {
    turn: Mutex<()>,
}

impl SingleFlight {
    /// What is known; otherwise one task at a time reads it, and keeps it for the others. A task
    /// waits for its turn as long as for a connection.
    pub async fn get_or_read<T>(
        &self,
        known: impl Fn() -> Option<T>,
        read: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        if let Some(value) = known() {
            return Ok(value);
        }
        let _turn = self.take_turn(ACQUIRE_TIMEOUT).await?;
        if let Some(value) = known() {
            return Ok(value);
        }
        read.await
    }

    async fn take_turn(&self, within: Duration) -> Result<MutexGuard<'_, ()>, Error> {
        let turn = timeout(within, self.turn.lock()).await;
        turn.map_err(|_| sqlx::Error::PoolTimedOut.into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn one_task_reads_and_no_task_waits_longer_than_it_may() {
        let (flight, value, reads) = (
            SingleFlight::default(),
            AtomicU32::new(0),
            AtomicU32::new(0),
        );
        let known = || Some(value.load(Ordering::Relaxed)).filter(|value| *value > 0);
        let read = || async {
            reads.fetch_add(1, Ordering::Relaxed);
            yield_now().await;
            value.store(7, Ordering::Relaxed);
            Ok(7)
        };
        let (first, second) = tokio::join!(
            flight.get_or_read(known, read()),
            flight.get_or_read(known, read())
        );
        assert_eq!((first.unwrap(), second.unwrap()), (7, 7));
        assert_eq!(reads.load(Ordering::Relaxed), 1);

        let _turn = flight.take_turn(Duration::ZERO).await.unwrap();
        let late = flight.take_turn(Duration::ZERO).await;
        assert!(late.unwrap_err().is_unavailable());
    }
}
