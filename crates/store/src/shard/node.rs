//! Leases belong to nodes: one row per worker process and shard.
//!
//! This is the one place that asks the server's own clock: a node is alive
//! until `seen_until` by the clock that everyone here shares.

use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;

/// What a claimed row carries. Writes that a claim leads to are guarded by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    pub node: Uuid,
    pub epoch: i32,
}

/// Enters a new node, or returns one that was taken for dead, under its raised epoch.
pub async fn join(
    shard: &Shard,
    node: Uuid,
    name: &str,
    lease_seconds: f64,
) -> Result<Claim, Error> {
    let epoch = sqlx::query_scalar!(
        "insert into shard.node (node, name, seen_until)
         values ($1, $2, clock_timestamp() + make_interval(secs => $3))
         on conflict (node) do update set seen_until = excluded.seen_until, dead_at = null
         returning epoch",
        node,
        name,
        lease_seconds
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(Claim { node, epoch })
}

/// Lives on. [`Error::Moved`] when the node was taken for dead meanwhile: its claims are gone.
pub async fn renew(shard: &Shard, claim: Claim, lease_seconds: f64) -> Result<(), Error> {
    let renewed = sqlx::query!(
        "update shard.node set seen_until = clock_timestamp() + make_interval(secs => $3)
         where node = $1 and epoch = $2 and dead_at is null",
        claim.node,
        claim.epoch,
        lease_seconds
    )
    .execute(&shard.pool)
    .await?;
    if renewed.rows_affected() == 1 {
        Ok(())
    } else {
        Err(Error::Moved)
    }
}

/// Whether this node is the first of those that live: for what one of them does for all.
pub(crate) async fn is_first(tx: &mut Transaction<'_>, claim: Claim) -> Result<bool, Error> {
    let first = sqlx::query_scalar!(
        "select node from shard.node
         where dead_at is null and seen_until > clock_timestamp() order by node limit 1"
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(first == Some(claim.node))
}

/// Buries every node whose lease has run out, and frees what it had claimed.
pub async fn bury_dead(shard: &Shard) -> Result<Vec<String>, Error> {
    let overdue = sqlx::query_scalar!(
        "select count(*) from shard.node where dead_at is null and seen_until < clock_timestamp()"
    );
    if overdue.fetch_one(&shard.pool).await? == Some(0) {
        return Ok(Vec::new());
    }
    let names = sqlx::query_scalar!(
        r#"with dead as (
               update shard.node set epoch = epoch + 1, dead_at = clock_timestamp()
               where dead_at is null and seen_until < clock_timestamp()
               returning node, name
           ), lanes as (
               update shard.lane set node = null, epoch = null
               where node in (select node from dead)
           ), batches as (
               update shard.batch set node = null, epoch = null, takeovers = takeovers + 1
               where node in (select node from dead)
           ), deliveries as (
               update shard.delivery set node = null, epoch = null, takeovers = takeovers + 1
               where node in (select node from dead)
           ), files as (
               update shard.file set node = null, epoch = null, takeovers = takeovers + 1
               where node in (select node from dead)
           )
           select name from dead"#
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(names)
}

/// Goes in peace: what it had claimed is free at once, and nobody counts a takeover.
pub async fn leave(shard: &Shard, claim: Claim) -> Result<(), Error> {
    sqlx::query!(
        r#"with gone as (
               delete from shard.node where node = $1 and epoch = $2
           ), lanes as (
               update shard.lane set node = null, epoch = null where node = $1 and epoch = $2
           ), batches as (
               update shard.batch set node = null, epoch = null where node = $1 and epoch = $2
           ), files as (
               update shard.file set node = null, epoch = null where node = $1 and epoch = $2
           )
           update shard.delivery set node = null, epoch = null where node = $1 and epoch = $2"#,
        claim.node,
        claim.epoch
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// Forgets nodes that died more than a day ago.
pub async fn forget(shard: &Shard) -> Result<(), Error> {
    sqlx::query!("delete from shard.node where dead_at < clock_timestamp() - interval '1 day'")
        .execute(&shard.pool)
        .await?;
    Ok(())
}
