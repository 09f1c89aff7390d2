//! How long it takes until another process takes over the claims of a killed one.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use sqlx::PgPool;

use crate::harness::failure::{FailureContext as _, Result};
use crate::harness::lock::lock;

const POLL_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy)]
struct KilledProcess {
    pid: u32,
    killed_at: Instant,
    /// When a claim last named it.
    last_claimed_at: Option<Instant>,
}

#[derive(Debug, Default)]
pub struct KilledProcesses(Mutex<Vec<KilledProcess>>);

impl KilledProcesses {
    pub fn record(&self, pid: u32) {
        let process = KilledProcess {
            pid,
            killed_at: Instant::now(),
            last_claimed_at: None,
        };
        lock(&self.0).push(process);
    }

    pub fn count(&self) -> usize {
        lock(&self.0).len()
    }

    /// Seconds until the work of each killed process was taken over, if it had any.
    pub fn takeover_seconds(&self) -> Vec<f64> {
        let killed = lock(&self.0);
        let waits = killed.iter().filter_map(|process| {
            let waited = process
                .last_claimed_at?
                .saturating_duration_since(process.killed_at)
                + POLL_INTERVAL;
            Some(waited.as_secs_f64())
        });
        waits.collect()
    }

    fn record_claims(&self, pids: &HashSet<u32>) {
        let now = Instant::now();
        let mut killed = lock(&self.0);
        for process in killed
            .iter_mut()
            .filter(|process| pids.contains(&process.pid))
        {
            process.last_claimed_at = Some(now);
        }
    }
}

/// Polls until it is dropped; returns only with a failure.
pub async fn watch_claims(shards: &[(String, PgPool)], killed: &KilledProcesses) -> Result<()> {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        for (_, pool) in shards {
            killed.record_claims(&find_claiming_processes(pool).await?);
        }
    }
}

/// The processes with claims. A node's name ends with its process id.
async fn find_claiming_processes(pool: &PgPool) -> Result<HashSet<u32>> {
    let query = "select node.name from shard.node
        where exists (select from shard.lane where lane.node = node.node)
           or exists (select from shard.batch where batch.node = node.node)
           or exists (select from shard.delivery where delivery.node = node.node)";
    let names: Vec<String> = sqlx::query_scalar(query)
        .fetch_all(pool)
        .await
        .context("reading claims")?;
    Ok(names
        .iter()
        .filter_map(|name| name.rsplit(':').next()?.parse().ok())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_killed_processes_with_claims_are_measured() {
        let killed = KilledProcesses::default();
        killed.record(7);
        killed.record(8);
        killed.record_claims(&HashSet::from([8, 9]));
        assert_eq!(killed.count(), 2);
        assert_eq!(killed.takeover_seconds().len(), 1);
    }
}
