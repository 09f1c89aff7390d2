//! Lanes: created when first needed, gathered by one worker at a time.

use domain::lane::{Lane, LaneId};
use domain::model::ModelKind;
use domain::route::InferenceMode;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::node::Claim;

/// The id of a lane, which is created if it does not exist.
pub async fn ensure(shard: &Shard, lane: &Lane) -> Result<LaneId, Error> {
    sqlx::query!(
        "insert into shard.lane (provider, model, kind, via) values ($1, $2, $3, $4)
         on conflict do nothing",
        lane.provider,
        lane.model,
        lane.kind.as_str(),
        lane.via.as_str()
    )
    .execute(&shard.pool)
    .await?;
    let id = sqlx::query_scalar!(
        "select id from shard.lane
         where provider = $1 and model = $2 and kind = $3 and via = $4",
        lane.provider,
        lane.model,
        lane.kind.as_str(),
        lane.via.as_str()
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(LaneId(id))
}

pub async fn find(shard: &Shard, id: LaneId) -> Result<Lane, Error> {
    let row = sqlx::query!(
        "select provider, model, kind, via from shard.lane where id = $1",
        id.0
    )
    .fetch_one(&shard.pool)
    .await?;
    let corrupt = |column| Error::Corrupt {
        table: "lane",
        column,
    };
    Ok(Lane {
        provider: row.provider,
        model: row.model,
        kind: ModelKind::parse(&row.kind).ok_or(corrupt("kind"))?,
        via: InferenceMode::parse(&row.via).ok_or(corrupt("via"))?,
    })
}

/// Every lane.
pub async fn list(shard: &Shard) -> Result<Vec<(LaneId, Lane)>, Error> {
    let ids = sqlx::query_scalar!("select id from shard.lane order by id");
    let mut lanes = Vec::new();
    for id in ids.fetch_all(&shard.pool).await? {
        lanes.push((LaneId(id), find(shard, LaneId(id)).await?));
    }
    Ok(lanes)
}

/// Adds the time that a batch took at its provider to the lane's average, from which callers get
/// an estimate.
pub async fn record_turnaround(shard: &Shard, lane: LaneId, seconds: f64) -> Result<(), Error> {
    sqlx::query!(
        "update shard.lane
         set turnaround_seconds = coalesce(turnaround_seconds * 0.7 + $2::double precision * 0.3, $2) where id = $1",
        lane.0,
        seconds
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// A lane that a worker has claimed for gathering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimedLane {
    pub id: LaneId,
    /// An operator has paused gathering.
    pub is_paused: bool,
}

/// Claims every unclaimed lane; returns all lanes that this claim holds.
pub async fn claim_free(shard: &Shard, claim: Claim) -> Result<Vec<ClaimedLane>, Error> {
    let free = sqlx::query_scalar!("select count(*) from shard.lane where node is null");
    // The read is cheap; an update would assign a transaction id each time.
    if free.fetch_one(&shard.pool).await? != Some(0) {
        sqlx::query!(
            "with me as materialized (
                 select 1 from shard.node
                 where node = $1 and epoch = $2 and dead_at is null
                     and seen_until > clock_timestamp()
                 for key share
             )
             update shard.lane set node = $1, epoch = $2
             where id in (
                 select id from shard.lane where node is null and exists (select from me)
                 for update skip locked
             )",
            claim.node,
            claim.epoch
        )
        .execute(&shard.pool)
        .await?;
    }
    let rows = sqlx::query!(
        r#"select id, paused_at is not null as "is_paused!" from shard.lane
           where node = $1 and epoch = $2"#,
        claim.node,
        claim.epoch
    )
    .fetch_all(&shard.pool)
    .await?;
    let held = rows.into_iter().map(|row| ClaimedLane {
        id: LaneId(row.id),
        is_paused: row.is_paused,
    });
    Ok(held.collect())
}

/// Pauses gathering until it is resumed. Cargo keeps waiting, and its deadlines still apply.
/// Returns whether there is such a lane.
pub async fn pause(
    shard: &Shard,
    lane: LaneId,
    by: &str,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<bool, Error> {
    let paused = sqlx::query!(
        "update shard.lane
         set paused_at = coalesce(paused_at, $4), paused_by = $2, pause_reason = $3 where id = $1",
        lane.0,
        by,
        reason,
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(paused.rows_affected() > 0)
}

/// Returns whether the lane was paused.
pub async fn resume(shard: &Shard, lane: LaneId) -> Result<bool, Error> {
    let resumed = sqlx::query!(
        "update shard.lane set paused_at = null, paused_by = null, pause_reason = null
         where id = $1 and paused_at is not null",
        lane.0
    )
    .execute(&shard.pool)
    .await?;
    Ok(resumed.rows_affected() > 0)
}

/// Locks the lane until the transaction ends, if this claim still holds it.
pub async fn lock_claimed(tx: &mut Transaction, lane: LaneId, claim: Claim) -> Result<(), Error> {
    sqlx::query_scalar!(
        "select id from shard.lane where id = $1 and node = $2 and epoch = $3 for update",
        lane.0,
        claim.node,
        claim.epoch
    )
    .fetch_optional(&mut **tx)
    .await?
    .map(|_| ())
    .ok_or(Error::Fenced)
}
