//! Watches leases and claims in the database for the whole trial.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::PgPool;
use uuid::Uuid;

use crate::harness::checks::interruption::{HeldClaims, Interruptions};
use crate::harness::environment::databases;
use crate::harness::{FailureContext as _, PollLimits, Result};

pub const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// A sweeper frees such claims; it does not run all the time.
const ORPHAN_TIMEOUT: Duration = Duration::from_secs(20);

/// Leases that were lost, beyond what interruptions record.
#[derive(Debug, Default)]
pub struct LostLeases {
    /// The latest epoch of each node.
    epochs: Mutex<HashMap<Uuid, i32>>,
    /// Processes that lost their lease without an interruption.
    lost: Mutex<BTreeSet<String>>,
}

impl LostLeases {
    pub fn lost(&self) -> Vec<String> {
        let lost = self.lost.lock();
        lost.iter().cloned().collect()
    }

    fn check_node(&self, shard: &str, node: &LeaseNode, is_excused: bool) {
        let mut epochs = self.epochs.lock();
        let before = epochs.insert(node.id, node.epoch).unwrap_or(node.epoch);
        let what = if node.epoch != before {
            "was fenced"
        } else if node.is_dead {
            "is dead"
        } else if node.is_overdue {
            "was not renewed"
        } else {
            return;
        };
        if !is_excused {
            let text = format!("{shard}: {} {what} in epoch {before}", node.name);
            let mut lost = self.lost.lock();
            lost.insert(text);
        }
    }
}

#[derive(Debug, sqlx::FromRow)]
struct LeaseNode {
    id: Uuid,
    name: String,
    epoch: i32,
    is_dead: bool,
    is_overdue: bool,
    has_claims: bool,
}

impl LeaseNode {
    /// A node's name ends with its process id.
    fn pid(&self) -> Option<u32> {
        self.name.rsplit(':').next()?.parse().ok()
    }
}

/// Polls until it is dropped; returns only with a failure.
pub async fn watch_claims(
    shards: &[(String, PgPool)],
    interruptions: &Interruptions,
    leases: &LostLeases,
) -> Result<Infallible> {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        for (name, pool) in shards {
            inspect_shard(name, pool, interruptions, leases).await?;
        }
    }
}

async fn inspect_shard(
    shard: &str,
    pool: &PgPool,
    interruptions: &Interruptions,
    leases: &LostLeases,
) -> Result<()> {
    let query = "select node as id, name, epoch, dead_at is not null as is_dead,
            seen_until < clock_timestamp() as is_overdue,
            exists (select from shard.lane where lane.node = node.node)
                or exists (select from shard.batch where batch.node = node.node)
                or exists (select from shard.delivery where delivery.node = node.node)
                or exists (select from shard.file where file.node = node.node) as has_claims
        from shard.node";
    let nodes: Vec<LeaseNode> = sqlx::query_as(query)
        .fetch_all(pool)
        .await
        .context("reading leases")?;
    let away: HashSet<u32> = interruptions.interrupted_pids().into_iter().collect();
    for node in &nodes {
        let Some(pid) = node.pid() else { continue };
        leases.check_node(shard, node, interruptions.excuses(pid));
        if node.has_claims && away.contains(&pid) {
            interruptions.record_held(pid, read_held_claims(pool, node.id).await?);
        }
    }
    Ok(())
}

/// Every claim of a node.
async fn read_held_claims(pool: &PgPool, node: Uuid) -> Result<HeldClaims> {
    let query = "select
        array(select id from shard.lane where node = $1) as lanes,
        array(select cargo from shard.delivery where node = $1) as deliveries,
        array(select unnest(cargo) from shard.batch where node = $1) as cargo,
        (select count(*) from shard.batch where node = $1) as batches,
        (select count(*) from shard.file where node = $1) as files";
    let query = sqlx::query_as::<_, (Vec<i32>, Vec<Uuid>, Vec<Uuid>, i64, i64)>(query);
    let row = query.bind(node).fetch_one(pool).await;
    let (lanes, deliveries, cargo, batches, files) = row.context("reading claims")?;
    Ok(HeldClaims {
        lanes: lanes.into_iter().collect(),
        deliveries: deliveries.into_iter().collect(),
        cargo: cargo.into_iter().collect(),
        batches: usize::try_from(batches).unwrap_or_default(),
        files: usize::try_from(files).unwrap_or_default(),
    })
}

/// Claims of a (node, epoch) that is not alive, by shard and kind, after the time to free them.
pub async fn wait_for_no_orphans(shards: &[(String, PgPool)]) -> Result<Vec<String>> {
    let limits = PollLimits::new(ORPHAN_TIMEOUT, POLL_INTERVAL);
    let find = async || find_orphans(shards).await;
    limits.read_until(Vec::is_empty, find).await
}

async fn find_orphans(shards: &[(String, PgPool)]) -> Result<Vec<String>> {
    let query = "
        select format('%s: %s %s', current_database(), count(*), kind) from (
            select 'lane' as kind, node, epoch from shard.lane
            union all select 'batch', node, epoch from shard.batch
            union all select 'delivery', node, epoch from shard.delivery
            union all select 'file', node, epoch from shard.file) claim
        where node is not null and not exists (
            select from shard.node alive
            where alive.node = claim.node and alive.epoch = claim.epoch
              and alive.dead_at is null and alive.seen_until > clock_timestamp())
        group by kind order by kind";
    let found: Vec<(String,)> = databases::fetch_rows(shards, query).await?;
    Ok(found.into_iter().map(|(text,)| text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_lost_when_its_epoch_rises_or_its_time_is_over() {
        let leases = LostLeases::default();
        let mut node = LeaseNode {
            id: Uuid::from_u128(1),
            name: "host:7".to_owned(),
            epoch: 1,
            is_dead: false,
            is_overdue: false,
            has_claims: false,
        };
        leases.check_node("north", &node, false);
        assert!(leases.lost().is_empty());
        node.epoch = 2;
        leases.check_node("north", &node, true);
        assert!(leases.lost().is_empty());
        node.is_overdue = true;
        leases.check_node("north", &node, false);
        assert_eq!(leases.lost(), ["north: host:7 was not renewed in epoch 2"]);
        assert_eq!(node.pid(), Some(7));
    }
}
