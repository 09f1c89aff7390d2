//! Requests that wait for the verdict on a file. One poller per shard queries for all of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::id::FileId;
use parking_lot::Mutex;
use store::Shard;
use store::shard::file::{self, FileRow};
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// After a query that failed.
const RETRY_DELAY: Duration = Duration::from_millis(250);

type WaitersByFile = HashMap<FileId, Vec<oneshot::Sender<FileRow>>>;

#[derive(Debug)]
pub(super) struct VerdictWaiters {
    pub(super) shard: Arc<Shard>,
    waiters: Mutex<WaitersByFile>,
    waiter_added: Notify,
}

impl VerdictWaiters {
    pub(super) fn new(shard: Arc<Shard>) -> Self {
        Self {
            shard,
            waiters: Mutex::default(),
            waiter_added: Notify::new(),
        }
    }

    /// The file with its verdict, or nothing when the time limit passes first. The poller drops
    /// waiters that were cancelled.
    pub(super) async fn wait(&self, file: FileId, time_limit: Duration) -> Option<FileRow> {
        let (sender, verdict) = oneshot::channel();
        self.waiters.lock().entry(file).or_default().push(sender);
        self.waiter_added.notify_one();
        timeout(time_limit, verdict).await.ok()?.ok()
    }

    pub(super) async fn run(&self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let awaited = self.awaited_files();
            let pause = async {
                if awaited.is_empty() {
                    self.waiter_added.notified().await;
                } else {
                    sleep(self.poll(&awaited).await).await;
                }
            };
            tokio::select! {
                () = pause => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Queries once, and returns the time until the next query.
    async fn poll(&self, awaited: &[FileId]) -> Duration {
        let Ok(settled) = file::find_with_verdict(&self.shard, awaited).await else {
            return RETRY_DELAY;
        };
        for file in settled {
            let waiters = self.waiters.lock().remove(&file.id).unwrap_or_default();
            for waiter in waiters {
                // The request may have been cancelled.
                let _cancelled = waiter.send(file.clone());
            }
        }
        POLL_INTERVAL
    }

    fn awaited_files(&self) -> Vec<FileId> {
        let mut waiting = self.waiters.lock();
        waiting.retain(|_, waiters| {
            waiters.retain(|waiter| !waiter.is_closed());
            !waiters.is_empty()
        });
        waiting.keys().copied().collect()
    }
}
