//! Leases and claims as the rows show them, looked at all the while.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::PgPool;
use uuid::Uuid;

use crate::chaos::interruption::{Held, Interruptions};
use crate::failure::{During as _, Result};

const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// A sweeper frees such claims; it does not have to be at work at this moment.
const MAX_ORPHAN_AGE: Duration = Duration::from_secs(20);

/// What the watcher found beyond what interruptions note.
#[derive(Debug, Default)]
pub struct Leases {
    /// The latest epoch of each node.
    epochs: Mutex<HashMap<Uuid, i32>>,
    /// Processes that lost their lease without having been interrupted.
    lost: Mutex<BTreeSet<String>>,
}

impl Leases {
    pub fn lost(&self) -> Vec<String> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.iter().cloned().collect()
    }

    fn judge(&self, shard: &str, node: &Node, is_excused: bool) {
        let mut epochs = self.epochs.lock().unwrap_or_else(PoisonError::into_inner);
        let before = epochs.insert(node.id, node.epoch).unwrap_or(node.epoch);
        let what = if node.epoch != before {
            "was buried"
        } else if node.is_dead {
            "is dead"
        } else if node.is_overdue {
            "was not renewed"
        } else {
            return;
        };
        if !is_excused {
            let text = format!("{shard}: {} {what} in epoch {before}", node.name);
            let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
            lost.insert(text);
        }
    }
}

#[derive(Debug, sqlx::FromRow)]
struct Node {
    id: Uuid,
    name: String,
    epoch: i32,
    is_dead: bool,
    is_overdue: bool,
}

impl Node {
    /// A node's name ends with its process id.
    fn pid(&self) -> Option<u32> {
        self.name.rsplit(':').next()?.parse().ok()
    }
}

/// Looks on for as long as it is awaited; ends only by failing.
pub async fn watch(
    shards: &[(String, PgPool)],
    interruptions: &Interruptions,
    leases: &Leases,
) -> Result<()> {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        for (name, pool) in shards {
            look(name, pool, interruptions, leases).await?;
        }
    }
}

async fn look(
    shard: &str,
    pool: &PgPool,
    interruptions: &Interruptions,
    leases: &Leases,
) -> Result<()> {
    let query = "select node as id, name, epoch, dead_at is not null as is_dead,
            seen_until < clock_timestamp() as is_overdue
        from shard.node";
    let nodes: Vec<Node> = sqlx::query_as(query)
        .fetch_all(pool)
        .await
        .during("looking at leases")?;
    let away: HashSet<u32> = interruptions.away().into_iter().collect();
    for node in &nodes {
        let Some(pid) = node.pid() else { continue };
        leases.judge(shard, node, interruptions.excuse(pid));
        if away.contains(&pid) {
            interruptions.note_held(pid, held(pool, node.id).await?);
        }
    }
    Ok(())
}

/// Every row that names a node.
async fn held(pool: &PgPool, node: Uuid) -> Result<Held> {
    let query = "select
        array(select id from shard.lane where node = $1) as lanes,
        array(select cargo from shard.delivery where node = $1) as deliveries,
        array(select unnest(cargo) from shard.batch where node = $1) as cargo,
        (select count(*) from shard.batch where node = $1) as batches,
        (select count(*) from shard.file where node = $1) as files";
    let asked = sqlx::query_as::<_, (Vec<i32>, Vec<Uuid>, Vec<Uuid>, i64, i64)>(query);
    let row = asked.bind(node).fetch_one(pool).await;
    let (lanes, deliveries, cargo, batches, files) = row.during("looking at claims")?;
    Ok(Held {
        lanes: lanes.into_iter().collect(),
        deliveries: deliveries.into_iter().collect(),
        cargo: cargo.into_iter().collect(),
        batches: usize::try_from(batches).unwrap_or_default(),
        files: usize::try_from(files).unwrap_or_default(),
    })
}

/// Claims that name a (node, epoch) which is not alive, by shard and kind, once there was time
/// to free them.
pub async fn orphans(shards: &[(String, PgPool)]) -> Result<Vec<String>> {
    let begun = Instant::now();
    loop {
        let found = orphans_now(shards).await?;
        if found.is_empty() || begun.elapsed() > MAX_ORPHAN_AGE {
            return Ok(found);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn orphans_now(shards: &[(String, PgPool)]) -> Result<Vec<String>> {
    let query = "
        select format('%s %s', count(*), kind) from (
            select 'lane' as kind, node, epoch from shard.lane
            union all select 'batch', node, epoch from shard.batch
            union all select 'delivery', node, epoch from shard.delivery
            union all select 'file', node, epoch from shard.file) claim
        where node is not null and not exists (
            select from shard.node alive
            where alive.node = claim.node and alive.epoch = claim.epoch
              and alive.dead_at is null and alive.seen_until > clock_timestamp())
        group by kind order by kind";
    let mut found = Vec::new();
    for (name, pool) in shards {
        let rows = sqlx::query_scalar::<_, String>(query).fetch_all(pool).await;
        let rows = rows.during("looking for claims of the dead")?;
        found.extend(rows.into_iter().map(|row| format!("{name}: {row}")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_lost_when_its_epoch_rises_or_its_time_is_over() {
        let leases = Leases::default();
        let mut node = Node {
            id: Uuid::from_u128(1),
            name: "host:7".to_owned(),
            epoch: 1,
            is_dead: false,
            is_overdue: false,
        };
        leases.judge("north", &node, false);
        assert!(leases.lost().is_empty());
        node.epoch = 2;
        leases.judge("north", &node, true);
        assert!(leases.lost().is_empty());
        node.is_overdue = true;
        leases.judge("north", &node, false);
        assert_eq!(leases.lost(), ["north: host:7 was not renewed in epoch 2"]);
        assert_eq!(node.pid(), Some(7));
    }
}
