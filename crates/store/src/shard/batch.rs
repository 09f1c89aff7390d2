//! Batches: gathered, submitted, polled, ended.

use std::time::Duration;

use chrono::TimeDelta;
use domain::id::{BatchId, CargoId};
use domain::lane::LaneId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::earlier_cost::{self, BilledAttempt};
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
    /// The earliest deadline that a caller set for its cargo.
    pub first_deadline_at: Option<Timestamp>,
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
    /// Why it takes that lane, if its way changes: the code of a `RouteReason`.
    pub reason: Option<&'static str>,
    /// Cargo with an id before this one goes to this lane instead.
    pub urgent: Option<(Uuid, LaneId)>,
    /// Cargo with a deadline of its caller takes the first of these ways that it is due before.
    pub ways: Vec<DeadlineWay>,
    /// The backoff by attempt. Empty: no backoff.
    pub backoffs: Vec<TimeDelta>,
    /// Cargo that keeps its lane and its attempt, because no provider ran it, and when it may be
    /// gathered again.
    pub kept: Vec<(CargoId, Timestamp)>,
}

/// The lane of cargo with little time left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadlineWay {
    pub due_before: Timestamp,
    pub lane: LaneId,
    /// The code of a `RouteReason`.
    pub reason: &'static str,
}

/// Ends a batch. Cargo without an outcome is queued again with the next attempt number.
pub async fn end(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    onward: RequeuePlan,
    now: Timestamp,
) -> Result<u64, Error> {
    end_billed(shard, batch, claim, onward, &[], now).await
}

/// As [`end`], and records what attempts without an outcome cost us. Results of a job can be read
/// again until the batch has ended, so only its end records them.
pub async fn end_billed(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    onward: RequeuePlan,
    billed: &[BilledAttempt],
    now: Timestamp,
) -> Result<u64, Error> {
    let mut tx = shard.begin().await?;
    let ended = sqlx::query!(
        "update shard.batch set state = 'ended', ended_at = $4, node = null, epoch = null,
             job = coalesce(job, '')
         where id = $1 and node = $2 and epoch = $3
         returning (select item from unnest(cargo) as item order by item limit 1) as first,
             (select item from unnest(cargo) as item order by item desc limit 1) as last",
        batch.uuid(),
        claim.node,
        claim.epoch,
        now
    )
    .fetch_optional(&mut *tx)
    .await?;
    // They limit the requeue to the partitions of these days.
    let bounds = ended.ok_or(Error::Fenced)?;
    let bounds = (
        bounds.first.unwrap_or_default(),
        bounds.last.unwrap_or_default(),
    );
    earlier_cost::add_to_open(&mut tx, batch, billed).await?;
    provider_file::queue_batch(&mut tx, batch, now).await?;
    let returned = requeue_open(&mut tx, batch, bounds, &onward, now).await?;
    tx.commit().await?;
    Ok(returned)
}

/// Queues the cargo without an outcome again, and says how much that was. `bounds` are the smallest
/// and the largest id of the batch.
async fn requeue_open(
    tx: &mut Transaction,
    batch: BatchId,
    (first, last): (Uuid, Uuid),
    onward: &RequeuePlan,
    now: Timestamp,
) -> Result<u64, Error> {
    let rests: Vec<f64> = onward
        .backoffs
        .iter()
        .map(|rest| rest.as_seconds_f64())
        .collect();
    let (kept, kept_until): (Vec<Uuid>, Vec<Timestamp>) = onward
        .kept
        .iter()
        .map(|(cargo, until)| (cargo.uuid(), *until))
        .unzip();
    let due_before: Vec<Timestamp> = onward.ways.iter().map(|way| way.due_before).collect();
    let way_lanes: Vec<i32> = onward.ways.iter().map(|way| way.lane.0).collect();
    let reasons = onward.ways.iter().map(|way| way.reason.to_owned());
    let reasons: Vec<String> = reasons.collect();
    let returned = sqlx::query!(
        "with way as (
             select * from unnest($9::timestamptz[], $10::int[], $11::text[])
                 as way (due_before, lane, reason)
         ), back as (
             update shard.cargo c set batch = null, returned_at = $5,
                 attempt = attempt + case when kept.id is null then 1 else 0 end,
                 lane = coalesce(
                     (select way.lane from way where c.deadline_at < way.due_before
                      order by way.due_before limit 1),
                     case when kept.id is not null then c.lane when c.id < $3 then $4
                          else coalesce($2, c.lane) end),
                 route_reason = coalesce(
                     (select way.reason from way where c.deadline_at < way.due_before
                      order by way.due_before limit 1),
                     case when kept.id is null then $12 end, c.route_reason)
             from shard.batch b cross join lateral unnest(b.cargo) as item (id)
                 left join unnest($7::uuid[], $8::timestamptz[]) as kept (id, due_at)
                     on kept.id = item.id
             where b.id = $1 and c.id = item.id and c.batch = $1 and c.completed_at is null
                 and c.id >= $13 and c.id <= $14
             returning c.lane, c.organization, c.id, c.deadline_at, c.attempt - 1 as attempt,
                 -- Cargo that leaves its lane does not wait for that lane's provider.
                 case when kept.id is null then null when c.lane = b.lane then kept.due_at
                      else $5::timestamptz end as kept_until
         )
         insert into shard.waiting (lane, organization, cargo, due_at, deadline_at)
         select lane, organization, id,
             -- Never null: gather finds what came back by this moment.
             coalesce(kept_until, case when cardinality($6::float8[]) > 0 then least(
                 $5::timestamptz + make_interval(
                     secs => ($6::float8[])[least(attempt, cardinality($6::float8[]))]),
                 -- A backoff takes at most a quarter of the time until the caller's deadline. Without
                 -- a deadline this is null, which `least` ignores.
                 case when deadline_at > $5::timestamptz
                          then $5::timestamptz + (deadline_at - $5::timestamptz) / 4
                      when deadline_at is not null then $5::timestamptz end
             ) end, $5),
             deadline_at
         from back",
        batch.uuid(),
        onward.lane.map(|lane| lane.0),
        onward.urgent.map(|(before, _)| before),
        onward.urgent.map(|(_, lane)| lane.0),
        now,
        &rests,
        &kept,
        &kept_until,
        &due_before,
        &way_lanes,
        &reasons,
        onward.reason,
        first,
        last
    )
    .execute(&mut **tx)
    .await?;
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
                 insert into shard.batch (id, lane, state, cargo, gathered_at, first_deadline_at)
                 values ($1, $2, 'gathered', $3, $4, $6)
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
            batch.id.uuid(),
            batch.first_deadline_at
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
