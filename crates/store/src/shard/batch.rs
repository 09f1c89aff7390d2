//! Batches: gathered, submitted, polled, ended.

use std::time::Duration;

use chrono::TimeDelta;
use domain::id::{BatchId, CargoId};
use domain::lane::LaneId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::node::Claim;
use crate::shard::provider_file;
use crate::shard::time_limit;

mod claim;

pub use claim::{
    BatchClaimQuota, BatchQueue, claim_gathered, claim_running, free_unknown_claims,
    list_due_lanes, release,
};

/// A batch that a stage has claimed.
#[derive(Debug, Clone)]
pub struct ClaimedBatchRow {
    pub id: BatchId,
    pub lane: LaneId,
    pub cargo: Vec<CargoId>,
    pub job: Option<String>,
    pub takeovers: i32,
}

/// The provider accepted the batch. Releases the claim and schedules the next poll.
pub async fn mark_running(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    job: &str,
    next_poll_at: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set state = 'running', running_at = $5, job = $4, next_poll_at = $6,
             node = null, epoch = null, takeovers = 0
         where id = $1 and node = $2 and epoch = $3 and state = 'submitting'",
        batch.uuid(),
        claim.node,
        claim.epoch,
        job,
        now,
        next_poll_at
    )
    .execute(&shard.pool)
    .await?;
    check_fencing(changed.rows_affected())
}

/// The provider's job of a batch, if it has one.
pub async fn find_job(shard: &Shard, batch: BatchId) -> Result<Option<String>, Error> {
    let job = sqlx::query_scalar!("select job from shard.batch where id = $1", batch.uuid());
    Ok(job.fetch_optional(&shard.pool).await?.flatten())
}

/// How many batches of some lanes are not submitted yet; for lanes in `realtime`, how many are not
/// answered yet. Lanes without such batches are left out.
pub async fn count_backlog(
    shard: &Shard,
    lanes: &[LaneId],
    realtime: &[LaneId],
) -> Result<Vec<(LaneId, u64)>, Error> {
    let lanes: Vec<i32> = lanes.iter().map(|lane| lane.0).collect();
    let realtime: Vec<i32> = realtime.iter().map(|lane| lane.0).collect();
    let rows = sqlx::query!(
        r#"select lane, count(*) as "count!" from shard.batch
           where lane = any($1) and state in ('gathered', 'submitting', 'running')
               and (state <> 'running' or lane = any($2))
           group by lane"#,
        &lanes,
        &realtime
    )
    .fetch_all(&shard.pool)
    .await?;
    let counts = rows.into_iter().map(|row| {
        let count = u64::try_from(row.count).unwrap_or_default();
        (LaneId(row.lane), count)
    });
    Ok(counts.collect())
}

/// As [`reschedule`], and resets the takeovers: the worker has processed all results so far and
/// survived it.
pub async fn reschedule_after_progress(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    next_poll_at: Timestamp,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set next_poll_at = $4, node = null, epoch = null, takeovers = 0
         where id = $1 and node = $2 and epoch = $3",
        batch.uuid(),
        claim.node,
        claim.epoch,
        next_poll_at
    )
    .execute(&shard.pool)
    .await?;
    check_fencing(changed.rows_affected())
}

/// Not done or not accepted yet. Releases the claim; any node may try again at `next_poll_at`.
pub async fn reschedule(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    next_poll_at: Timestamp,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set next_poll_at = $4, node = null, epoch = null
         where id = $1 and node = $2 and epoch = $3",
        batch.uuid(),
        claim.node,
        claim.epoch,
        next_poll_at
    )
    .execute(&shard.pool)
    .await?;
    check_fencing(changed.rows_affected())
}

/// Where unfinished cargo is queued again. By default in the same lane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequeuePlan {
    pub lane: Option<LaneId>,
    /// Cargo with an id before this one goes to this lane instead.
    pub urgent: Option<(Uuid, LaneId)>,
    /// The backoff by attempt. Empty: no backoff.
    pub backoffs: Vec<TimeDelta>,
}

/// Ends a batch. Cargo without an outcome is queued again with the next attempt number.
pub async fn end(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    onward: RequeuePlan,
    now: Timestamp,
) -> Result<u64, Error> {
    let mut tx = shard.begin().await?;
    let changed = sqlx::query!(
        "update shard.batch set state = 'ended', ended_at = $4, node = null, epoch = null,
             job = coalesce(job, '')
         where id = $1 and node = $2 and epoch = $3",
        batch.uuid(),
        claim.node,
        claim.epoch,
        now
    )
    .execute(&mut *tx)
    .await?;
    check_fencing(changed.rows_affected())?;
    provider_file::queue_batch(&mut tx, batch, now).await?;
    let rests: Vec<f64> = onward
        .backoffs
        .iter()
        .map(|rest| rest.as_seconds_f64())
        .collect();
    let returned = sqlx::query!(
        "with back as (
             update shard.cargo c set batch = null, attempt = attempt + 1, returned_at = $5,
                 lane = case when c.id < $3 then $4 else coalesce($2, c.lane) end
             from shard.batch b, unnest(b.cargo) as item (id)
             where b.id = $1 and c.id = item.id and c.batch = $1 and c.completed_at is null
             returning c.lane, c.organization, c.id, c.attempt - 1 as attempt
         )
         insert into shard.waiting (lane, organization, cargo, due_at)
         select lane, organization, id,
             -- Never null: gather finds what came back by this moment.
             coalesce($5::timestamptz + make_interval(
                 secs => ($6::float8[])[least(attempt, cardinality($6::float8[]))]), $5)
         from back",
        batch.uuid(),
        onward.lane.map(|lane| lane.0),
        onward.urgent.map(|(before, _)| before),
        onward.urgent.map(|(_, lane)| lane.0),
        now,
        &rests
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(returned.rows_affected())
}

/// Splits a batch that keeps crashing its workers, to isolate the cargo that causes it.
pub async fn split(
    shard: &Shard,
    batch: &ClaimedBatchRow,
    claim: Claim,
    halves: [BatchId; 2],
    now: Timestamp,
) -> Result<(), Error> {
    let mut tx = shard.begin().await?;
    let changed = sqlx::query!(
        "update shard.batch set state = 'ended', ended_at = $4, node = null, epoch = null,
             job = coalesce(job, '')
         where id = $1 and node = $2 and epoch = $3",
        batch.id.uuid(),
        claim.node,
        claim.epoch,
        now
    )
    .execute(&mut *tx)
    .await?;
    check_fencing(changed.rows_affected())?;
    provider_file::queue_batch(&mut tx, batch.id, now).await?;
    let (first, second) = batch.cargo.split_at(batch.cargo.len() / 2);
    for (half, cargo) in halves.into_iter().zip([first, second]) {
        let cargo: Vec<_> = cargo.iter().map(|id| id.uuid()).collect();
        sqlx::query!(
            "with made as (
                 insert into shard.batch (id, lane, state, cargo, gathered_at)
                 values ($1, $2, 'gathered', $3, $4)
             ), moved as (
                 update shard.cargo c set batch = $1 from unnest($3::uuid[]) as item (id)
                 where c.id = item.id and c.batch = $5 and c.completed_at is null
                 returning c.project
             ), counts as (
                 select project, count(*) as cargo from moved group by project
             ), shared as (
                 insert into shard.share (project, batch, cargo)
                 select project, $1, cargo from counts
             )
             update shard.share s set cargo = s.cargo - counts.cargo from counts
             where s.project = counts.project and s.batch = $5",
            half.uuid(),
            batch.lane.0,
            &cargo,
            now,
            batch.id.uuid()
        )
        .execute(&mut *tx)
        .await?;
    }
    tx.commit().await?;
    Ok(())
}

/// When the oldest batch to submit was gathered, and when the oldest poll was due, among those
/// since `from`. None: this took longer than `limit`.
pub async fn find_oldest_due(
    shard: &Shard,
    from: Timestamp,
    limit: Duration,
) -> Result<Option<(Option<Timestamp>, Option<Timestamp>)>, Error> {
    let mut tx = time_limit::begin_limited(shard, limit).await?;
    let row = sqlx::query!(
        "select (select min(gathered_at) from shard.batch
                 where state in ('gathered', 'submitting') and node is null
                     and gathered_at >= $1) as gathered,
                (select min(next_poll_at) from shard.batch
                 where state = 'running' and node is null and next_poll_at >= $1) as polled",
        from
    )
    .fetch_one(&mut *tx)
    .await;
    let row = time_limit::none_if_timed_out(row)?;
    tx.rollback().await?;
    Ok(row.map(|row| (row.gathered, row.polled)))
}

pub(crate) const fn check_fencing(changed: u64) -> Result<(), Error> {
    if changed == 1 {
        Ok(())
    } else {
        Err(Error::Fenced)
    }
}
