//! Claims on batches. Each provider account has a quota per claim, so that all get their share.
//!
//! Only a live node with its current epoch can claim. The claim locks the node's row until it is
//! committed. The statement returns ids only; the cargo is read afterwards, without locks.

use std::collections::HashMap;

use domain::id::{BatchId, CargoId};
use domain::lane::LaneId;
use domain::route::InferenceMode;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use super::{ClaimedBatchRow, check_fencing};
use crate::Error;
use crate::Shard;
use crate::shard::node::Claim;

/// The queue from which a stage claims batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchQueue {
    /// Batches to submit.
    Gathered,
    /// Submitted batches to poll, of lanes with one of these inference modes.
    Running(&'static [InferenceMode]),
}

/// How many batches may be claimed from some lanes: the lanes of one provider account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchClaimQuota {
    pub lanes: Vec<LaneId>,
    pub max: usize,
    /// Only batches that the provider may have, or that are to be cancelled: the account has no
    /// room for others.
    pub only_sent: bool,
}

/// The quotas as arrays of columns: one row per lane, and one per quota.
#[derive(Debug, Default)]
struct QuotaColumns {
    lanes: Vec<i32>,
    quota_of_lane: Vec<i32>,
    numbers: Vec<i32>,
    max: Vec<i32>,
    only_sent: Vec<bool>,
}

impl QuotaColumns {
    fn of(quotas: &[BatchClaimQuota]) -> Self {
        let mut columns = Self::default();
        for (number, quota) in (0_i32..).zip(quotas) {
            columns.lanes.extend(quota.lanes.iter().map(|lane| lane.0));
            columns.quota_of_lane.resize(columns.lanes.len(), number);
            columns.numbers.push(number);
            columns
                .max
                .push(i32::try_from(quota.max).unwrap_or(i32::MAX));
            columns.only_sent.push(quota.only_sent);
        }
        columns
    }
}

/// The lanes that have batches to claim now. This read costs less than a claim of nothing.
pub async fn list_due_lanes(
    shard: &Shard,
    queue: BatchQueue,
    now: Timestamp,
) -> Result<Vec<LaneId>, Error> {
    let lanes = match queue {
        BatchQueue::Gathered => {
            sqlx::query_scalar!(
                "select distinct lane from shard.batch
                 where state in ('gathered', 'submitting') and node is null
                     and (next_poll_at is null or next_poll_at <= $1)",
                now
            )
            .fetch_all(&shard.pool)
            .await?
        }
        BatchQueue::Running(modes) => {
            let modes = mode_words(modes);
            sqlx::query_scalar!(
                "select distinct lane from shard.batch
                 where state = 'running' and node is null and next_poll_at <= $1
                     and lane in (select id from shard.lane where via = any($2))",
                now,
                &modes
            )
            .fetch_all(&shard.pool)
            .await?
        }
    };
    Ok(lanes.into_iter().map(LaneId).collect())
}

/// Claims batches to submit, the oldest of each quota first, and marks them as submitting.
pub async fn claim_gathered(
    shard: &Shard,
    claim: Claim,
    quotas: &[BatchClaimQuota],
    now: Timestamp,
) -> Result<Vec<ClaimedBatchRow>, Error> {
    let quotas = QuotaColumns::of(quotas);
    let claimed = sqlx::query_scalar!(
        "with me as materialized (
             select 1 from shard.node
             where node = $1 and epoch = $2 and dead_at is null
                 and seen_until > clock_timestamp()
             for key share
         ), free as materialized (
             select picked.id
             from unnest($6::int[], $7::int[], $8::bool[]) as quota (number, max, only_sent)
             cross join lateral (
                 select b.id from shard.batch b
                 where b.state in ('gathered', 'submitting') and b.node is null
                     and (b.next_poll_at is null or b.next_poll_at <= $3)
                     and b.lane in (
                         select of_quota.lane
                         from unnest($4::int[], $5::int[]) as of_quota (lane, number)
                         where of_quota.number = quota.number)
                     and (not quota.only_sent
                         or b.sent_at is not null or b.cancel_wanted_at is not null)
                 order by b.gathered_at, b.id limit quota.max for update of b skip locked
             ) picked
             where exists (select from me)
         )
         update shard.batch b set state = 'submitting',
             submitting_at = coalesce(submitting_at, $3), node = $1, epoch = $2
         from free where b.id = free.id returning b.id",
        claim.node,
        claim.epoch,
        now,
        &quotas.lanes,
        &quotas.quota_of_lane,
        &quotas.numbers,
        &quotas.max,
        &quotas.only_sent
    )
    .fetch_all(&shard.pool)
    .await?;
    read_claimed(shard, claimed).await
}

/// Claims submitted batches to poll, those of each quota that are due longest first.
pub async fn claim_running(
    shard: &Shard,
    claim: Claim,
    quotas: &[BatchClaimQuota],
    now: Timestamp,
) -> Result<Vec<ClaimedBatchRow>, Error> {
    let quotas = QuotaColumns::of(quotas);
    let claimed = sqlx::query_scalar!(
        "with me as materialized (
             select 1 from shard.node
             where node = $1 and epoch = $2 and dead_at is null
                 and seen_until > clock_timestamp()
             for key share
         ), free as materialized (
             select picked.id from unnest($6::int[], $7::int[]) as quota (number, max)
             cross join lateral (
                 select b.id from shard.batch b
                 where b.state = 'running' and b.node is null and b.next_poll_at <= $3
                     and b.lane in (
                         select of_quota.lane
                         from unnest($4::int[], $5::int[]) as of_quota (lane, number)
                         where of_quota.number = quota.number)
                 order by b.next_poll_at limit quota.max for update of b skip locked
             ) picked
             where exists (select from me)
         )
         update shard.batch b set node = $1, epoch = $2
         from free where b.id = free.id returning b.id",
        claim.node,
        claim.epoch,
        now,
        &quotas.lanes,
        &quotas.quota_of_lane,
        &quotas.numbers,
        &quotas.max
    )
    .fetch_all(&shard.pool)
    .await?;
    read_claimed(shard, claimed).await
}

/// The claimed batches, oldest first: ids sort by time.
async fn read_claimed(shard: &Shard, mut ids: Vec<Uuid>) -> Result<Vec<ClaimedBatchRow>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    ids.sort_unstable();
    let rows = sqlx::query!(
        "select id, lane, cargo, job, takeovers, first_deadline_at
         from shard.batch where id = any($1)",
        &ids
    )
    .fetch_all(&shard.pool)
    .await?;
    let mut rows: HashMap<Uuid, _> = rows.into_iter().map(|row| (row.id, row)).collect();
    let batches = ids.into_iter().filter_map(|id| rows.remove(&id));
    let batches = batches.map(|row| ClaimedBatchRow {
        id: row.id.into(),
        lane: LaneId(row.lane),
        cargo: row.cargo.into_iter().map(CargoId::from_uuid).collect(),
        job: row.job,
        takeovers: row.takeovers,
        first_deadline_at: row.first_deadline_at,
    });
    Ok(batches.collect())
}

fn mode_words(modes: &[InferenceMode]) -> Vec<String> {
    modes.iter().map(|via| via.as_str().to_owned()).collect()
}

/// Releases a batch whose processing failed; it may be claimed again at `again_at`. If the worker
/// panicked, a takeover is counted.
pub async fn release(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    again_at: Timestamp,
    panicked: bool,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set node = null, epoch = null,
             next_poll_at = greatest(next_poll_at, $4), takeovers = takeovers + $5::int
         where id = $1 and node = $2 and epoch = $3",
        batch.uuid(),
        claim.node,
        claim.epoch,
        again_at,
        i32::from(panicked)
    )
    .execute(&shard.pool)
    .await?;
    check_fencing(changed.rows_affected())
}

/// Frees batches that this claim holds in a queue and the worker does not know of: the answer to
/// a claim can be lost.
pub async fn free_unknown_claims(
    shard: &Shard,
    claim: Claim,
    queue: BatchQueue,
    known: &[BatchId],
) -> Result<u64, Error> {
    let known: Vec<Uuid> = known.iter().map(|id| id.uuid()).collect();
    let (state, modes) = match queue {
        BatchQueue::Gathered => ("submitting", None),
        BatchQueue::Running(modes) => ("running", Some(mode_words(modes))),
    };
    let freed = sqlx::query!(
        "update shard.batch set node = null, epoch = null
         where node = $1 and epoch = $2 and state = $3 and not id = any($5)
             and ($4::text[] is null or lane in (select id from shard.lane where via = any($4)))",
        claim.node,
        claim.epoch,
        state,
        modes.as_deref(),
        &known
    )
    .execute(&shard.pool)
    .await?;
    Ok(freed.rows_affected())
}
