//! The transactions that cancel cargo: of the queue, and of one batch.

use std::collections::HashSet;

use domain::batch::BatchState;
use domain::id::{CargoId, ProjectId};
use domain::reason_code::FailureCode;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use sqlx::types::Uuid;

use super::CANCELLED;
use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::body;
use crate::concurrency_slots::ConcurrencySlots;
use crate::shard::outcome::{NewOutcome, prepare_keys, record_in};
use crate::shard::tracking::parse_batch_state;
use crate::shard::waiting::id_bounds;

/// A cargo without an outcome, and where it was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenMember {
    pub(super) cargo: CargoId,
    pub(super) project: ProjectId,
    pub(super) organization: Uuid,
    pub(super) lane: i32,
    pub(super) attempt: u32,
    pub(super) batch: Option<Uuid>,
}

impl OpenMember {
    fn outcome(&self) -> NewOutcome {
        NewOutcome {
            cargo: self.cargo,
            project: self.project,
            attempt: self.attempt,
            success: false,
            failure_code: Some(FailureCode::Cancelled),
            body: body::pack(CANCELLED.as_bytes()),
            usage: TokenBuckets::default(),
            cost: None,
            served: None,
            realtime: None,
            claim_delivery: false,
        }
    }
}

/// Who cancels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CancelActor {
    /// The API, for a caller. It cancels one cargo, and waits until no other transaction moves it.
    Caller,
    /// A worker, which cancels many. It skips cargo that is being moved: gather may have locked
    /// some of the rows, and waits for others.
    Worker,
}

impl CancelActor {
    /// A caller who waits for a row must not keep outcomes waiting.
    const fn slots(self, shard: &Shard) -> &ConcurrencySlots {
        match self {
            Self::Caller => &shard.cancel_request_slots,
            Self::Worker => &shard.outcome_group_slots,
        }
    }
}

/// How much cargo a request has cancelled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CancelCounts {
    pub cancelled: u64,
    /// Providers have it or may have it.
    pub too_late: u64,
}

/// Cancels cargo that waits in the queue, and returns how much that was. Cargo that has left the
/// queue is skipped.
pub(super) async fn cancel_waiting(
    shard: &Shard,
    actor: CancelActor,
    members: &[OpenMember],
    now: Timestamp,
) -> Result<u64, Error> {
    let mut outcomes: Vec<NewOutcome> = members.iter().map(OpenMember::outcome).collect();
    let keys = prepare_keys(shard, &outcomes).await?;
    // Acquired before the transaction, so that no task waits for a slot while it holds locks.
    let _turn = actor.slots(shard).acquire().await;
    let mut tx = shard.begin().await?;
    if let (CancelActor::Caller, [member]) = (actor, members) {
        wait_for_row(&mut tx, member).await?;
    }
    let removed = remove_from_queue(&mut tx, members).await?;
    outcomes.retain(|outcome| removed.contains(&outcome.cargo.uuid()));
    if outcomes.is_empty() {
        tx.rollback().await?;
        return Ok(0);
    }
    record_request(&mut tx, None, &removed, now).await?;
    let stored = record_in(&mut tx, &keys, None, None, outcomes, now).await?;
    if stored.len() != removed.len() {
        // One of them was in a batch since it was read, and is in another attempt now.
        tx.rollback().await?;
        return Ok(0);
    }
    tx.commit().await?;
    Ok(stored.len() as u64)
}

/// Waits until no other transaction moves the cargo.
async fn wait_for_row(tx: &mut Transaction, member: &OpenMember) -> Result<(), Error> {
    sqlx::query_scalar!(
        "select cargo from shard.waiting
         where lane = $1 and organization = $2 and cargo = $3 for update",
        member.lane,
        member.organization,
        member.cargo.uuid()
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(())
}

/// Removes the cargo whose rows no other transaction has locked.
async fn remove_from_queue(
    tx: &mut Transaction,
    members: &[OpenMember],
) -> Result<HashSet<Uuid>, Error> {
    let lanes: Vec<i32> = members.iter().map(|member| member.lane).collect();
    let organizations: Vec<Uuid> = members.iter().map(|member| member.organization).collect();
    let cargo: Vec<Uuid> = members.iter().map(|member| member.cargo.uuid()).collect();
    let removed = sqlx::query_scalar!(
        "delete from shard.waiting where (lane, organization, cargo) in (
             select w.lane, w.organization, w.cargo
             from unnest($1::int[], $2::uuid[], $3::uuid[]) as meant (lane, organization, cargo)
                 join shard.waiting w on w.lane = meant.lane
                     and w.organization = meant.organization and w.cargo = meant.cargo
             for update of w skip locked
         )
         returning cargo",
        &lanes,
        &organizations,
        &cargo
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(removed.into_iter().collect())
}

/// Records the request on open cargo of a batch, or of the queue, and returns this cargo.
async fn record_request(
    tx: &mut Transaction,
    batch: Option<Uuid>,
    cargo: &HashSet<Uuid>,
    now: Timestamp,
) -> Result<HashSet<Uuid>, Error> {
    let cargo: Vec<Uuid> = cargo.iter().copied().collect();
    let (first, last) = id_bounds(&cargo);
    let requested = sqlx::query_scalar!(
        "update shard.cargo set cancel_requested_at = coalesce(cancel_requested_at, $1)
         where id = any($2) and id >= $3 and id <= $4
             and batch is not distinct from $5 and completed_at is null
         returning id",
        now,
        &cargo,
        first,
        last,
        batch
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(requested.into_iter().collect())
}

/// What a request did to the cargo of one batch.
pub(super) struct BatchCancel {
    pub(super) state: BatchState,
    pub(super) counts: CancelCounts,
}

/// Cancels cargo of a batch of which nothing was sent. Otherwise it records the request. None: the
/// cargo has left the batch, or the batch is gone.
pub(super) async fn cancel_in_batch(
    shard: &Shard,
    actor: CancelActor,
    batch: Uuid,
    members: &[OpenMember],
    now: Timestamp,
) -> Result<Option<BatchCancel>, Error> {
    let mut outcomes: Vec<NewOutcome> = members.iter().map(OpenMember::outcome).collect();
    let keys = prepare_keys(shard, &outcomes).await?;
    let _turn = actor.slots(shard).acquire().await;
    let mut tx = shard.begin().await?;
    let Some((state, is_open)) = lock_batch(&mut tx, batch).await? else {
        tx.rollback().await?;
        return Ok(None);
    };
    let cargo = members.iter().map(|member| member.cargo.uuid()).collect();
    let requested = record_request(&mut tx, Some(batch), &cargo, now).await?;
    outcomes.retain(|outcome| requested.contains(&outcome.cargo.uuid()));
    let mut counts = CancelCounts::default();
    if is_open {
        counts.cancelled = requested.len() as u64;
        let stored = record_in(&mut tx, &keys, Some(batch), None, outcomes, now).await?;
        if stored.len() != requested.len() {
            tx.rollback().await?;
            return Ok(None);
        }
    } else {
        counts.too_late = requested.len() as u64;
    }
    tx.commit().await?;
    Ok(Some(BatchCancel { state, counts }))
}

/// Locks a batch; returns its state, and whether its cargo can still be cancelled. A digest is
/// written before anything is sent: see [`crate::shard::batch_submission::close_to_cancelling`].
async fn lock_batch(
    tx: &mut Transaction,
    batch: Uuid,
) -> Result<Option<(BatchState, bool)>, Error> {
    let row = sqlx::query!(
        r#"select b.state,
               b.digest is null and b.sent_at is null
                   and (b.state in ('gathered', 'submitting')
                        or (b.state = 'running' and l.via <> 'batch')) as "is_open!"
           from shard.batch b join shard.lane l on l.id = b.lane
           where b.id = $1 for no key update of b"#,
        batch
    )
    .fetch_optional(&mut **tx)
    .await?;
    row.map(|row| Ok((parse_batch_state(&row.state)?, row.is_open)))
        .transpose()
}
