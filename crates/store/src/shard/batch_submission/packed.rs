//! The first entry of the journal: what is to be sent. From then on no cargo of the batch can be
//! cancelled.

use domain::id::{BatchId, CargoId};
use sqlx::types::Uuid;

use super::PackedSubmission;
use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::number::signed;
use crate::shard::batch::check_fencing;
use crate::shard::node::Claim;
use crate::shard::provider_file;
use crate::shard::waiting::id_bounds;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackedRecord {
    Recorded,
    /// Cargo was cancelled while it was packed. The batch is closed to cancelling now: the next
    /// time all cargo that is open then can be recorded.
    CargoCancelled,
}

/// Records what is to be submitted, in order. Cargo that is left over is queued again in the same
/// attempt: it was never part of a submission.
pub async fn record_packed(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    order: &[CargoId],
    packed: &PackedSubmission,
) -> Result<PackedRecord, Error> {
    let order: Vec<Uuid> = order.iter().map(|id| id.uuid()).collect();
    let mut tx = shard.begin().await?;
    lock_unsent(&mut tx, batch, claim).await?;
    if count_open(&mut tx, batch, &order).await? != order.len() {
        close(&mut tx, batch, claim).await?;
        tx.commit().await?;
        return Ok(PackedRecord::CargoCancelled);
    }
    // An upload from before has other lines.
    provider_file::queue_upload(&mut tx, batch, shard.clock.now()).await?;
    sqlx::query!(
        "with left_over as (
             -- One pass over both lists, whatever their length.
             select item.id from shard.batch b, unnest(b.cargo) as item (id) where b.id = $1
             except
             select unnest($2::uuid[])
         ), back as (
             update shard.cargo c set batch = null from left_over
             where c.id = left_over.id and c.batch = $1 and c.completed_at is null
             returning c.lane, c.organization, c.project, c.id, c.deadline_at
         ), shared as (
             update shard.share s set cargo = s.cargo - counts.cargo
             from (select project, count(*) as cargo from back group by project) counts
             where s.project = counts.project and s.batch = $1
         )
         insert into shard.waiting (lane, organization, cargo, due_at, deadline_at)
         -- Gather finds what came back by this moment.
         select lane, organization, id, $3, deadline_at from back",
        batch.uuid(),
        &order,
        shard.clock.now()
    )
    .execute(&mut *tx)
    .await?;
    let changed = sqlx::query!(
        "update shard.batch set cargo = $4, encoder = $5, digest = $6, tokens = $7, upload = null
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
    check_fencing(changed.rows_affected())?;
    tx.commit().await?;
    Ok(PackedRecord::Recorded)
}

/// Closes a batch to cancelling, before its requests are sent one by one. Cargo that is listed as
/// open after this is sent, and a request to cancel it comes too late.
pub async fn close_to_cancelling(shard: &Shard, batch: BatchId, claim: Claim) -> Result<(), Error> {
    let mut tx = shard.begin().await?;
    close(&mut tx, batch, claim).await?;
    tx.commit().await?;
    Ok(())
}

/// A digest without an encoder is of no packed submission: it only closes the batch.
async fn close(tx: &mut Transaction, batch: BatchId, claim: Claim) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set digest = coalesce(digest, '')
         where id = $1 and node = $2 and epoch = $3",
        batch.uuid(),
        claim.node,
        claim.epoch
    )
    .execute(&mut **tx)
    .await?;
    check_fencing(changed.rows_affected())
}

/// Locks the batch before its cargo, as a cancellation does.
async fn lock_unsent(tx: &mut Transaction, batch: BatchId, claim: Claim) -> Result<(), Error> {
    sqlx::query_scalar!(
        "select id from shard.batch
         where id = $1 and node = $2 and epoch = $3 and state = 'submitting' and sent_at is null
         for no key update",
        batch.uuid(),
        claim.node,
        claim.epoch
    )
    .fetch_optional(&mut **tx)
    .await?
    .map(|_| ())
    .ok_or(Error::Fenced)
}

async fn count_open(tx: &mut Transaction, batch: BatchId, order: &[Uuid]) -> Result<usize, Error> {
    let (first, last) = id_bounds(order);
    let open = sqlx::query_scalar!(
        r#"select count(*) as "count!" from shard.cargo
           where id = any($1) and id >= $2 and id <= $3
               and batch = $4 and completed_at is null"#,
        order,
        first,
        last,
        batch.uuid()
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(usize::try_from(open).unwrap_or_default())
}
