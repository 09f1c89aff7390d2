//! Leases, fencing and takeover of nodes: one row per process and shard.
//!
//! A node is alive until `seen_until` by the database server's clock, which all nodes share.

use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;

/// The fencing token that a claimed row carries. Every write that follows from a claim compares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    pub node: Uuid,
    pub epoch: i32,
}

/// Registers a node that claims work.
pub async fn join(
    shard: &Shard,
    node: Uuid,
    name: &str,
    lease_seconds: f64,
) -> Result<Claim, Error> {
    register(shard, node, name, true, lease_seconds).await
}

/// Registers a node that claims nothing. Its peers end its sessions when its lease has expired.
pub async fn join_without_claims(
    shard: &Shard,
    node: Uuid,
    name: &str,
    lease_seconds: f64,
) -> Result<Claim, Error> {
    register(shard, node, name, false, lease_seconds).await
}

/// A node that exists already gets a higher epoch, which invalidates its earlier claims.
async fn register(
    shard: &Shard,
    node: Uuid,
    name: &str,
    works: bool,
    lease_seconds: f64,
) -> Result<Claim, Error> {
    let mut tx = shard.lease.begin().await?;
    // Claims in flight lock this row `for key share`, so they end before the epoch is raised.
    sqlx::query_scalar!(
        "select epoch from shard.node where node = $1 for update",
        node
    )
    .fetch_optional(&mut *tx)
    .await?;
    let epoch = sqlx::query_scalar!(
        "insert into shard.node (node, name, works, seen_until)
         values ($1, $2, $4, clock_timestamp() + make_interval(secs => $3))
         on conflict (node) do update
             set seen_until = excluded.seen_until, epoch = node.epoch + 1, dead_at = null
         returning epoch",
        node,
        name,
        lease_seconds,
        works
    )
    .fetch_one(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(Claim { node, epoch })
}

/// Renews the lease. Fails with [`Error::Fenced`] when the node was fenced meanwhile: its claims
/// are lost.
pub async fn renew(shard: &Shard, claim: Claim, lease_seconds: f64) -> Result<(), Error> {
    let renewed = sqlx::query!(
        "update shard.node set seen_until = clock_timestamp() + make_interval(secs => $3)
         where node = $1 and epoch = $2 and dead_at is null",
        claim.node,
        claim.epoch,
        lease_seconds
    )
    .execute(&shard.lease)
    .await?;
    if renewed.rows_affected() == 1 {
        Ok(())
    } else {
        Err(Error::Fenced)
    }
}

/// Whether this node is the first of the live workers. Used for work that one node does for all.
pub(crate) async fn is_first_worker(tx: &mut Transaction, claim: Claim) -> Result<bool, Error> {
    let first = sqlx::query_scalar!(
        "select node from shard.node
         where works and dead_at is null and seen_until > clock_timestamp()
         order by node limit 1"
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(first == Some(claim.node))
}

/// Raises the epoch of every node whose lease has expired, frees their claims, and returns their
/// names.
///
/// Their sessions are ended first. A frozen or disconnected process keeps its row locks, and no
/// timeout ends one that is frozen while it receives a result.
pub async fn fence_expired_nodes(shard: &Shard) -> Result<Vec<String>, Error> {
    let overdue = sqlx::query_scalar!(
        "select node from shard.node where dead_at is null and seen_until < clock_timestamp()"
    )
    .fetch_all(&shard.cleanup)
    .await?;
    if overdue.is_empty() {
        return Ok(Vec::new());
    }
    let sessions: Vec<String> = overdue.into_iter().map(session_name).collect();
    sqlx::query!(
        "select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = any($1) and usename = current_user and pid <> pg_backend_pid()",
        &sessions
    )
    .fetch_all(&shard.cleanup)
    .await?;
    let names = sqlx::query_scalar!(
        "with dead as materialized (
             select node from shard.node
             where dead_at is null and seen_until < clock_timestamp()
             -- A claim in flight holds its node by key share. It commits before the epoch is
             -- raised, or it finds another epoch and claims nothing.
             order by node for update skip locked
         )
         update shard.node n set epoch = n.epoch + 1, dead_at = clock_timestamp()
         from dead where n.node = dead.node returning n.name"
    )
    .fetch_all(&shard.cleanup)
    .await?;
    if !names.is_empty() {
        free_orphaned_claims(shard).await?;
    }
    Ok(names)
}

/// The `application_name` of a node's sessions, by which its peers end them.
pub fn session_name(node: Uuid) -> String {
    format!("longshored {node}")
}

/// Per statement.
const MAX_FREED: i64 = 500;

/// Frees every claim whose (node, epoch) is not alive, table by table.
///
/// Locked rows are left for the next call. Returns how many claims were freed.
pub async fn free_orphaned_claims(shard: &Shard) -> Result<u64, Error> {
    macro_rules! free {
        ($table:literal, $key:literal, $takeover:literal) => {{
            let mut freed = 0;
            loop {
                let some = sqlx::query!(
                    "update shard."
                        + $table
                        + " t set node = null, epoch = null"
                        + $takeover
                        + "
                     where t."
                        + $key
                        + " in (
                         select x."
                        + $key
                        + " from shard."
                        + $table
                        + " x
                         where x.node is not null and not exists (
                             select from shard.node n
                             where n.node = x.node and n.epoch = x.epoch and n.dead_at is null)
                         limit $1 for update of x skip locked)",
                    MAX_FREED
                )
                .execute(&shard.cleanup)
                .await?;
                freed += some.rows_affected();
                if some.rows_affected() < MAX_FREED.unsigned_abs() {
                    break freed;
                }
            }
        }};
    }
    // A node that has joined again after an outage of the database did not die of its work.
    macro_rules! free_and_count {
        ($table:literal, $key:literal) => {
            free!(
                $table,
                $key,
                ", takeovers = t.takeovers + (case when exists (
                     select from shard.node n where n.node = t.node and n.dead_at is null)
                     then 0 else 1 end)"
            )
        };
    }
    let lanes = free!("lane", "id", "");
    let batches = free_and_count!("batch", "id");
    let deliveries = free_and_count!("delivery", "cargo");
    let files = free_and_count!("file", "id");
    Ok(lanes + batches + deliveries + files)
}

/// Deletes a node that shuts down. Its claims of every epoch are freed at once and count no
/// takeover. A node that was fenced meanwhile owns nothing and frees nothing.
pub async fn leave(shard: &Shard, claim: Claim) -> Result<(), Error> {
    let mut tx = shard.begin().await?;
    // As in fencing: claims in flight end first.
    sqlx::query_scalar!(
        "select epoch from shard.node where node = $1 for update",
        claim.node
    )
    .fetch_optional(&mut *tx)
    .await?;
    let left = sqlx::query!(
        "delete from shard.node where node = $1 and epoch = $2",
        claim.node,
        claim.epoch
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    if left.rows_affected() == 0 {
        return Ok(());
    }
    macro_rules! free {
        ($table:literal) => {
            sqlx::query!(
                "update shard."
                    + $table
                    + " set node = null, epoch = null
                 where node = $1 and epoch <= $2",
                claim.node,
                claim.epoch
            )
            .execute(&shard.pool)
            .await?
        };
    }
    free!("lane");
    free!("batch");
    free!("delivery");
    free!("file");
    Ok(())
}

/// Deletes nodes that died more than a day ago.
pub async fn delete_dead_nodes(shard: &Shard) -> Result<(), Error> {
    sqlx::query!("delete from shard.node where dead_at < clock_timestamp() - interval '1 day'")
        .execute(&shard.cleanup)
        .await?;
    Ok(())
}
