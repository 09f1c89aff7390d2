//! Probes a shard every second: whether it answers, how fast, and what its clock says.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use store::Shard;
use store::shard::clock;
use tokio_util::sync::CancellationToken;

const PROBE_INTERVAL: Duration = Duration::from_secs(1);
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The result of the last probe of a shard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ShardReachability {
    Unknown,
    Reachable { latency: Duration },
    Unreachable,
}

#[derive(Debug)]
pub(crate) struct ShardProbe {
    last: Mutex<ShardReachability>,
}

impl Default for ShardProbe {
    fn default() -> Self {
        Self {
            last: Mutex::new(ShardReachability::Unknown),
        }
    }
}

impl ShardProbe {
    pub(crate) fn last(&self) -> ShardReachability {
        *self.last.lock()
    }

    pub(crate) async fn run(&self, shard: &Shard, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let result = self.query_shard(shard).await;
            *self.last.lock() = result;
            tokio::select! {
                () = tokio::time::sleep(PROBE_INTERVAL) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    async fn query_shard(&self, shard: &Shard) -> ShardReachability {
        let started = Instant::now();
        match tokio::time::timeout(PROBE_TIMEOUT, clock::read_time(shard)).await {
            Ok(Ok(server_time)) => {
                shard.clock.synchronize(server_time);
                ShardReachability::Reachable {
                    latency: started.elapsed(),
                }
            }
            Ok(Err(_)) | Err(_) => ShardReachability::Unreachable,
        }
    }
}
