//! How long the claims of a killed process stay with the dead.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::PgPool;

use crate::failure::{During as _, Result};

const LOOK: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy)]
struct Death {
    pid: u32,
    at: Instant,
    /// The last moment at which something was still claimed by it.
    last_claimed: Option<Instant>,
}

/// Every kill of a run.
#[derive(Debug, Default)]
pub struct Deaths(Mutex<Vec<Death>>);

impl Deaths {
    pub fn note(&self, pid: u32) {
        let death = Death {
            pid,
            at: Instant::now(),
            last_claimed: None,
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(death);
    }

    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Seconds until the work of each was taken up, of those that left any.
    pub fn taken_up(&self) -> Vec<f64> {
        let deaths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = deaths.iter().filter_map(|death| {
            let waited = death.last_claimed?.saturating_duration_since(death.at) + LOOK;
            Some(waited.as_secs_f64())
        });
        waits.collect()
    }

    fn still_claiming(&self, pids: &HashSet<u32>) {
        let now = Instant::now();
        let mut deaths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for death in deaths.iter_mut().filter(|death| pids.contains(&death.pid)) {
            death.last_claimed = Some(now);
        }
    }
}

/// Looks on for as long as it is awaited; ends only by failing.
pub async fn watch(shards: &[(String, PgPool)], deaths: &Deaths) -> Result<()> {
    loop {
        tokio::time::sleep(LOOK).await;
        for (_, pool) in shards {
            deaths.still_claiming(&claimants(pool).await?);
        }
    }
}

/// The processes that claim something. A node's name ends with its process id.
async fn claimants(pool: &PgPool) -> Result<HashSet<u32>> {
    let query = "select node.name from shard.node
        where exists (select from shard.lane where lane.node = node.node)
           or exists (select from shard.batch where batch.node = node.node)
           or exists (select from shard.delivery where delivery.node = node.node)";
    let names: Vec<String> = sqlx::query_scalar(query)
        .fetch_all(pool)
        .await
        .during("looking at claims")?;
    Ok(names
        .iter()
        .filter_map(|name| name.rsplit(':').next()?.parse().ok())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_dead_that_left_work_are_measured() {
        let deaths = Deaths::default();
        deaths.note(7);
        deaths.note(8);
        deaths.still_claiming(&HashSet::from([8, 9]));
        assert_eq!(deaths.count(), 2);
        assert_eq!(deaths.taken_up().len(), 1);
    }
}
