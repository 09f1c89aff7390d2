//! Those who wait for a verdict: one poller per shard asks for all of them at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::id::FileId;
use store::Shard;
use store::shard::file::{self, File};
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_millis(25);
/// When the shard did not answer.
const LATER: Duration = Duration::from_millis(250);
/// Who comes when verdicts on so many files are awaited, or by so many on one, does not wait.
const ROOM: usize = 4096;
const ROOM_OF_A_FILE: usize = 64;

type Waiters = HashMap<FileId, Vec<oneshot::Sender<File>>>;

#[derive(Debug)]
pub(crate) struct Verdicts {
    shard: Arc<Shard>,
    waiting: Mutex<Waiters>,
    arrived: Notify,
}

impl Verdicts {
    pub(crate) fn new(shard: Arc<Shard>) -> Self {
        Self {
            shard,
            waiting: Mutex::default(),
            arrived: Notify::new(),
        }
    }

    /// The file once it is settled; nothing when that takes longer. Whoever stops waiting is
    /// forgotten.
    pub(crate) async fn wait(&self, file: FileId, patience: Duration) -> Option<File> {
        let (sender, verdict) = oneshot::channel();
        {
            let mut waiting = self.waiting();
            if waiting.len() >= ROOM {
                return None;
            }
            let waiters = waiting.entry(file).or_default();
            if waiters.len() >= ROOM_OF_A_FILE {
                return None;
            }
            waiters.push(sender);
        }
        self.arrived.notify_one();
        timeout(patience, verdict).await.ok()?.ok()
    }

    pub(crate) async fn run(&self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let awaited = self.awaited();
            let pause = async {
                if awaited.is_empty() {
                    self.arrived.notified().await;
                } else {
                    sleep(self.ask(&awaited).await).await;
                }
            };
            tokio::select! {
                () = pause => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// How long to rest before the next look.
    async fn ask(&self, awaited: &[FileId]) -> Duration {
        let Ok(settled) = file::statuses(&self.shard, awaited).await else {
            return LATER;
        };
        for file in settled {
            let waiters = self.waiting().remove(&file.id).unwrap_or_default();
            for waiter in waiters {
                // Who has gone does not hear it.
                let _gone = waiter.send(file.clone());
            }
        }
        EVERY
    }

    fn awaited(&self) -> Vec<FileId> {
        let mut waiting = self.waiting();
        waiting.retain(|_, waiters| {
            waiters.retain(|waiter| !waiter.is_closed());
            !waiters.is_empty()
        });
        waiting.keys().copied().collect()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiters> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
