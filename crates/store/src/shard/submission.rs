//! The journal of submissions: what must be known of one when its worker is gone.
//!
//! ```text
//! packed (order, digest) ─▶ uploaded ─▶ sent ─▶ running
//!                                        └─▶ looked for ─▶ running, or sent again
//! ```

use chrono::TimeDelta;
use domain::batch::Delay;
use domain::id::{BatchId, CargoId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::number::signed;
use crate::shard::batch::ours;
use crate::shard::node::Claim;

/// A job may take this long to be stopped.
const GIVEN_UP_AFTER: TimeDelta = TimeDelta::hours(1);

/// How far a submission has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    pub packed: Option<Packed>,
    pub upload: Option<String>,
    /// From here on the provider may have created the job.
    pub sent_at: Option<Timestamp>,
    /// Until then the call that creates the job may still be under way.
    pub sending_until: Option<Timestamp>,
    pub looks: u32,
    pub looked_at: Option<Timestamp>,
    pub missed: u32,
    pub missed_at: Option<Timestamp>,
    pub cancel_wanted_at: Option<Timestamp>,
    pub cancelled_at: Option<Timestamp>,
}

/// What was, or is to be, submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    pub encoder: u16,
    pub digest: Vec<u8>,
    pub tokens: u64,
}

impl Entry {
    /// It was to be stopped, and what became of it could not be learned in time: its cargo goes
    /// on without it, knowingly.
    pub fn is_given_up(&self, now: Timestamp) -> bool {
        self.cancel_wanted_at
            .is_some_and(|at| now - at >= GIVEN_UP_AFTER)
    }
}

pub async fn read(shard: &Shard, batch: BatchId) -> Result<Entry, Error> {
    let row = sqlx::query!(
        "select encoder, digest, tokens, upload, sent_at, sending_until, looks, looked_at, missed, missed_at,
             cancel_wanted_at, cancelled_at
         from shard.batch where id = $1",
        batch.uuid()
    )
    .fetch_one(&shard.pool)
    .await?;
    let packed = row.encoder.zip(row.digest).map(|(encoder, digest)| Packed {
        encoder: u16::try_from(encoder).unwrap_or_default(),
        digest,
        tokens: u64::try_from(row.tokens).unwrap_or_default(),
    });
    Ok(Entry {
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
    })
}

/// Writes down what is to be submitted, in its order. What is left over goes back to wait, in
/// the same attempt: it was never part of a submission.
pub async fn pack(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    order: &[CargoId],
    packed: &Packed,
) -> Result<u64, Error> {
    let order: Vec<Uuid> = order.iter().map(|id| id.uuid()).collect();
    let mut tx = shard.begin().await?;
    let left = sqlx::query!(
        "with left_over as (
             -- One pass over both lists, whatever their length.
             select item.id from shard.batch b, unnest(b.cargo) as item (id) where b.id = $1
             except
             select unnest($2::uuid[])
         ), back as (
             update shard.cargo c set batch = null from left_over
             where c.id = left_over.id and c.batch = $1 and c.completed_at is null
             returning c.lane, c.organization, c.project, c.id
         ), shared as (
             update shard.share s set cargo = s.cargo - counts.cargo
             from (select project, count(*) as cargo from back group by project) counts
             where s.project = counts.project and s.batch = $1
         )
         insert into shard.waiting (lane, organization, cargo, due_at)
         -- Gather finds what came back by this moment.
         select lane, organization, id, $3 from back",
        batch.uuid(),
        &order,
        shard.clock.now()
    )
    .execute(&mut *tx)
    .await?;
    let changed = sqlx::query!(
        "update shard.batch set cargo = $4, encoder = $5, digest = $6, tokens = $7
         where id = $1 and node = $2 and epoch = $3 and state = 'submitting' and sent_at is null",
        batch.uuid(),
        claim.node,
        claim.epoch,
        &order,
        i16::try_from(packed.encoder).unwrap_or(i16::MAX),
        packed.digest,
        signed(packed.tokens)
    )
    .execute(&mut *tx)
    .await?;
    ours(changed.rows_affected())?;
    tx.commit().await?;
    Ok(left.rows_affected())
}

pub async fn uploaded(
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
    ours(changed.rows_affected())
}

/// The intent: a worker that finds this looks for the job before sending it again. The call that
/// follows ends before `until`.
pub async fn sending(
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
    ours(changed.rows_affected())
}

/// The call that creates the job has ended without a clear answer: the job is looked for from
/// `again_at` on.
pub async fn unanswered(
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
    ours(changed.rows_affected())
}

/// The provider certainly did not create it: it may be sent without a look, at `again_at`.
pub async fn unsent(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    delay: Option<Delay>,
    again_at: Timestamp,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set sent_at = null, sending_until = null, upload = null,
             enqueued_at = null, next_poll_at = $4, delay = $5,
             node = null, epoch = null
         where id = $1 and node = $2 and epoch = $3 and state = 'submitting'",
        batch.uuid(),
        claim.node,
        claim.epoch,
        again_at,
        delay.map(Delay::as_str)
    )
    .execute(&shard.pool)
    .await?;
    ours(changed.rows_affected())
}

/// Looked for and not found; to be looked for again at `again_at`.
pub async fn looked(
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
    ours(changed.rows_affected())
}

/// The provider does not know a job that it has taken; it is asked again at `again_at`.
pub async fn missed(
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
    ours(changed.rows_affected())
}

/// The provider was asked to stop a job.
pub async fn cancelled(
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
    ours(changed.rows_affected())
}

/// Jobs that are wanted stopped.
#[derive(Debug, Clone, Copy)]
pub struct Unwanted<'a> {
    pub lanes: &'a [i32],
    /// With cargo that is open and was loaded in this time.
    pub loaded: (Uuid, Uuid),
    pub gathered_before: Timestamp,
}

/// A flag, whatever state the batch is in: who adopts the job sees it.
pub async fn want_cancelled(
    shard: &Shard,
    jobs: Unwanted<'_>,
    now: Timestamp,
) -> Result<u64, Error> {
    let (after, before) = jobs.loaded;
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
        after,
        before,
        jobs.gathered_before,
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(wanted.rows_affected())
}
