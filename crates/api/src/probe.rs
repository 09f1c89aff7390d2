//! The pulse of a shard: does it answer, how fast, and what time is it there?

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::Shard;
use store::shard::pulse;
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(2);

/// What the last look at a shard told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pulse {
    NotYet,
    Beats { latency: Duration },
    Away,
}

#[derive(Debug)]
pub(crate) struct Probe {
    last: Mutex<Pulse>,
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            last: Mutex::new(Pulse::NotYet),
        }
    }
}

impl Probe {
    pub(crate) fn last(&self) -> Pulse {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn run(&self, shard: &Shard, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let seen = self.look(shard).await;
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = seen;
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    async fn look(&self, shard: &Shard) -> Pulse {
        let asked = Instant::now();
        match tokio::time::timeout(PATIENCE, pulse::time(shard)).await {
            Ok(Ok(told)) => {
                shard.clock.learn(told);
                Pulse::Beats {
                    latency: asked.elapsed(),
                }
            }
            Ok(Err(_)) | Err(_) => Pulse::Away,
        }
    }
}
