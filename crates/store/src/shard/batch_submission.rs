//! The journal of batch submissions: what another worker needs to continue one.
//!
//! ```text
//! packed (order, digest) ─▶ uploaded ─▶ sent ─▶ running
//!                                        └─▶ reconciled ─▶ running, or sent again
//! ```

use chrono::TimeDelta;
use domain::batch::SubmissionDelay;
use domain::id::BatchId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::batch::check_fencing;
use crate::shard::cargo_id_range::CargoIdRange;
use crate::shard::node::Claim;
use crate::shard::provider_file;

mod packed;

pub use packed::{PackedRecord, close_to_cancelling, record_packed};

/// How long the cancellation of a job may take.
const CANCEL_TIMEOUT: TimeDelta = TimeDelta::hours(1);

/// The progress of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubmissionRecord {
    pub packed: Option<PackedSubmission>,
    pub upload: Option<String>,
    /// From here on the provider may have created the job.
    pub sent_at: Option<Timestamp>,
    /// Until then the call that creates the job may still be running.
    pub sending_until: Option<Timestamp>,
    pub looks: u32,
    pub looked_at: Option<Timestamp>,
    pub missed: u32,
    pub missed_at: Option<Timestamp>,
    pub cancel_wanted_at: Option<Timestamp>,
    pub cancelled_at: Option<Timestamp>,
    /// The identity of the shard, which the job carries.
    pub owner: Uuid,
}

/// What was submitted, or is to be submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedSubmission {
    pub encoder: u16,
    pub digest: Vec<u8>,
    pub tokens: u64,
}

impl SubmissionRecord {
    /// The job was to be cancelled, and its end was not confirmed in time. Its cargo is processed
    /// without it.
    pub fn is_abandoned(&self, now: Timestamp) -> bool {
        self.cancel_wanted_at
            .is_some_and(|at| now - at >= CANCEL_TIMEOUT)
    }
}

pub async fn read(shard: &Shard, batch: BatchId) -> Result<SubmissionRecord, Error> {
    let row = sqlx::query!(
        "select encoder, digest, tokens, upload, sent_at, sending_until, looks, looked_at, missed, missed_at,
             cancel_wanted_at, cancelled_at, recovery.identity
         from shard.batch, shard.recovery where batch.id = $1",
        batch.uuid()
    )
    .fetch_one(&shard.pool)
    .await?;
    let packed = row
        .encoder
        .zip(row.digest)
        .map(|(encoder, digest)| PackedSubmission {
            encoder: u16::try_from(encoder).unwrap_or_default(),
            digest,
            tokens: u64::try_from(row.tokens).unwrap_or_default(),
        });
    Ok(SubmissionRecord {
        packed,
        upload: row.upload,
        sent_at: row.sent_at,
        sending_until: row.sending_until,
        looks: u32::try_from(row.looks).unwrap_or_default(),
        looked_at: row.looked_at,
        missed: u32::try_from(row.missed).unwrap_or_default(),
        missed_at: row.missed_at,
        cancel_wanted_at: row.cancel_wanted_at,
        cancelled_at: row.cancelled_at,
        owner: row.identity,
    })
}

pub async fn record_upload(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    upload: &str,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set upload = $4
         where id = $1 and node = $2 and epoch = $3 and state = 'submitting'",
        batch.uuid(),
        claim.node,
        claim.epoch,
        upload
    )
    .execute(&shard.pool)
    .await?;
    check_fencing(changed.rows_affected())
}

/// Records the intent to send. A worker that finds it reconciles with the provider before it sends
/// again. The call that follows ends before `until`.
pub async fn record_send_intent(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    until: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set sent_at = $4, sending_until = $5, looks = 0, looked_at = null
         where id = $1 and node = $2 and epoch = $3 and state = 'submitting'",
        batch.uuid(),
        claim.node,
        claim.epoch,
        now,
        until
    )
    .execute(&shard.pool)
    .await?;
    check_fencing(changed.rows_affected())
}

/// The call that creates the job ended without a clear answer. The worker searches for the job
/// from `again_at` on.
pub async fn record_unanswered(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    again_at: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set sending_until = $5, next_poll_at = $4, node = null, epoch = null
         where id = $1 and node = $2 and epoch = $3 and state = 'submitting'",
        batch.uuid(),
        claim.node,
        claim.epoch,
        again_at,
        now
    )
    .execute(&shard.pool)
    .await?;
    check_fencing(changed.rows_affected())
}

/// The provider certainly did not create the job. It may be sent at `again_at` without searching.
pub async fn record_not_created(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    delay: Option<SubmissionDelay>,
    again_at: Timestamp,
) -> Result<(), Error> {
    let mut tx = shard.begin().await?;
    provider_file::queue_upload(&mut tx, batch, shard.clock.now()).await?;
    let changed = sqlx::query!(
        "update shard.batch set sent_at = null, sending_until = null, upload = null,
             enqueued_at = null, next_poll_at = $4, delay = $5,
             node = null, epoch = null
         where id = $1 and node = $2 and epoch = $3 and state = 'submitting'",
        batch.uuid(),
        claim.node,
        claim.epoch,
        again_at,
        delay.map(SubmissionDelay::as_str)
    )
    .execute(&mut *tx)
    .await?;
    check_fencing(changed.rows_affected())?;
    tx.commit().await?;
    Ok(())
}

/// The job was searched for and not found. The next search is at `again_at`.
pub async fn record_reconcile_miss(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    again_at: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set looks = looks + 1, looked_at = coalesce(looked_at, $5),
             next_poll_at = $4, node = null, epoch = null
         where id = $1 and node = $2 and epoch = $3 and state = 'submitting'",
        batch.uuid(),
        claim.node,
        claim.epoch,
        again_at,
        now
    )
    .execute(&shard.pool)
    .await?;
    check_fencing(changed.rows_affected())
}

/// The provider does not know a job that it had accepted. The next poll is at `again_at`.
pub async fn record_missing_job(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    again_at: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set missed = missed + 1, missed_at = coalesce(missed_at, $5),
             next_poll_at = $4, node = null, epoch = null
         where id = $1 and node = $2 and epoch = $3 and state = 'running'",
        batch.uuid(),
        claim.node,
        claim.epoch,
        again_at,
        now
    )
    .execute(&shard.pool)
    .await?;
    check_fencing(changed.rows_affected())
}

/// Records that the provider was asked to cancel the job.
pub async fn record_cancelled(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    now: Timestamp,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set cancelled_at = coalesce(cancelled_at, $4)
         where id = $1 and node = $2 and epoch = $3",
        batch.uuid(),
        claim.node,
        claim.epoch,
        now
    )
    .execute(&shard.pool)
    .await?;
    check_fencing(changed.rows_affected())
}

/// Selects jobs to cancel.
#[derive(Debug, Clone, Copy)]
pub struct JobsToCancel<'a> {
    pub lanes: &'a [i32],
    /// Jobs with open cargo in this range of ids.
    pub loaded: CargoIdRange,
    pub gathered_before: Timestamp,
}

/// Sets a flag, whether submitting or running: the worker that continues the batch sees it.
pub async fn request_cancel(
    shard: &Shard,
    jobs: JobsToCancel<'_>,
    now: Timestamp,
) -> Result<u64, Error> {
    let wanted = sqlx::query!(
        "update shard.batch b set cancel_wanted_at = $5
         where b.lane = any($1) and b.state in ('submitting', 'running')
             and b.cancel_wanted_at is null and b.gathered_at <= $4
             and exists (
                 select from unnest(b.cargo) as item (id)
                     join shard.cargo c on c.id = item.id
                 where item.id >= $2 and item.id < $3
                     and c.batch = b.id and c.completed_at is null
             )",
        jobs.lanes,
        jobs.loaded.first,
        jobs.loaded.beyond,
        jobs.gathered_before,
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(wanted.rows_affected())
}

/// As [`request_cancel`], for jobs with open cargo whose caller's deadline is before `before`.
pub async fn request_cancel_for_deadline(
    shard: &Shard,
    lanes: &[i32],
    before: Timestamp,
    now: Timestamp,
) -> Result<u64, Error> {
    let wanted = sqlx::query!(
        "update shard.batch b set cancel_wanted_at = $3
         where b.lane = any($1) and b.state in ('submitting', 'running')
             and b.cancel_wanted_at is null and b.first_deadline_at < $2
             and exists (
                 select from unnest(b.cargo) as item (id)
                     join shard.cargo c on c.id = item.id
                 where c.deadline_at < $2 and c.batch = b.id and c.completed_at is null
             )",
        lanes,
        before,
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(wanted.rows_affected())
}
