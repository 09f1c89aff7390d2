//! Probes a shard every second: whether it answers, how fast, what its clock says, and whether it
//! may take loads. A database that was restored or copied is paused: it may still be replaced, so a
//! 202 would promise too much.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use store::Shard;
use store::shard::clock;
use store::shard::recovery::{self, LoadPermission};
use tokio_util::sync::CancellationToken;

use crate::group_commit::LoadWriter;

const PROBE_INTERVAL: Duration = Duration::from_secs(1);
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long loads wait for a worker that compares a database with its bucket, after its server,
/// timeline or name changed. Without any worker they are accepted after this.
const VERIFICATION_TIMEOUT: Duration = Duration::from_secs(30);

/// The result of the last probe of a shard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ShardReachability {
    Unknown,
    Reachable {
        latency: Duration,
    },
    /// It answers, and takes no loads until an operator accepts it.
    Paused,
    Unreachable,
}

#[derive(Debug)]
pub(crate) struct ShardProbe {
    last: Mutex<ShardReachability>,
    /// Since when a worker has not compared the database with its bucket.
    unverified_since: Mutex<Option<Instant>>,
}

impl Default for ShardProbe {
    fn default() -> Self {
        Self {
            last: Mutex::new(ShardReachability::Unknown),
            unverified_since: Mutex::default(),
        }
    }
}

impl ShardProbe {
    pub(crate) fn last(&self) -> ShardReachability {
        *self.last.lock()
    }

    pub(crate) async fn run(&self, shard: &Shard, writer: &LoadWriter, stop: CancellationToken) {
        while !stop.is_cancelled() {
            self.probe_once(shard, writer).await;
            tokio::select! {
                () = tokio::time::sleep(PROBE_INTERVAL) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    pub(crate) async fn probe_once(&self, shard: &Shard, writer: &LoadWriter) {
        let result = self.query_shard(shard).await;
        *self.last.lock() = result;
        match result {
            ShardReachability::Paused => writer.set_paused(true),
            ShardReachability::Reachable { .. } => writer.set_paused(false),
            // A paused database may come back as another one.
            ShardReachability::Unknown | ShardReachability::Unreachable => {}
        }
    }

    async fn query_shard(&self, shard: &Shard) -> ShardReachability {
        let started = Instant::now();
        match tokio::time::timeout(PROBE_TIMEOUT, clock::read_time(shard)).await {
            Ok(Ok(server_time)) => {
                shard.clock.synchronize(server_time);
                let latency = started.elapsed();
                match self.is_paused(shard).await {
                    Some(true) => ShardReachability::Paused,
                    Some(false) => ShardReachability::Reachable { latency },
                    None => ShardReachability::Unreachable,
                }
            }
            Ok(Err(_)) | Err(_) => ShardReachability::Unreachable,
        }
    }

    /// None: the shard has just gone away, or is slow.
    async fn is_paused(&self, shard: &Shard) -> Option<bool> {
        let read = recovery::read_load_permission(shard);
        let permission = tokio::time::timeout(PROBE_TIMEOUT, read).await;
        let mut unverified_since = self.unverified_since.lock();
        Some(match permission {
            Ok(Ok(LoadPermission::Paused)) => true,
            Ok(Ok(LoadPermission::Unverified)) => {
                let since = *unverified_since.get_or_insert_with(Instant::now);
                since.elapsed() < VERIFICATION_TIMEOUT
            }
            Ok(Ok(LoadPermission::Allowed)) => {
                *unverified_since = None;
                false
            }
            // The server does not show its timeline, and no operator has paused it.
            Ok(Err(failure)) if !failure.is_unavailable() => false,
            Ok(Err(_)) | Err(_) => return None,
        })
    }
}
