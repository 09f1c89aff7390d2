//! The lease under which a serving process loads the items of a batch.
//!
//! A load is repeatable by its position in its group, so a lease that ends too early costs repeated
//! statements and nothing else.

use domain::id::{GroupId, OrganizationId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::encryption::{ContentKind, ValueIdentity};
use crate::number::signed;
use crate::shard::dropin::row::{DropinBatch, batches, read_batch};
use crate::shard::project_keys::write_keys;

/// The process that loads, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnpackLease {
    /// Of the process.
    pub holder: Uuid,
    pub until: Timestamp,
}

/// How far the items are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnpackPlace {
    /// Items before this one are loaded or failed.
    pub unpacked: u64,
    /// Since when the next item waits for credit.
    pub stalled_at: Option<Timestamp>,
}

/// Takes a batch that has items to load and that no process has. None: there is none.
///
/// Organizations have turns, and in each the batches of the organization: many batches of one do
/// not delay those of others. `after` is the organization that had the last turn.
pub async fn claim(
    shard: &Shard,
    lease: UnpackLease,
    after: Option<OrganizationId>,
    now: Timestamp,
) -> Result<Option<DropinBatch>, Error> {
    let row = batches!(
        "b as (
             update shard.dropin_batch set lease = $1, leased_until = $2
             where group_id = (
                 select group_id from shard.dropin_batch
                 where unpacked_at is null and (leased_until is null or leased_until <= $3)
                 -- The next organization, and of it the batch that waits longest for its turn.
                 order by organization <= $4::uuid, organization, leased_until nulls first, group_id
                 limit 1 for update skip locked)
             returning *
         )",
        "b.group_id",
        lease.holder,
        lease.until,
        now,
        after.map(OrganizationId::uuid)
    )
    .fetch_optional(&shard.pool)
    .await?;
    read_batch(shard, row).await
}

/// Stores how far the items are loaded, and renews the lease. `Fenced`: another process has it.
pub async fn advance(
    shard: &Shard,
    group: GroupId,
    lease: UnpackLease,
    place: UnpackPlace,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.dropin_batch
         set unpacked = greatest(unpacked, $3), stalled_at = $4, leased_until = $5
         where group_id = $1 and lease = $2 and unpacked_at is null",
        group.uuid(),
        lease.holder,
        signed(place.unpacked),
        place.stalled_at,
        lease.until
    )
    .execute(&shard.pool)
    .await?;
    if changed.rows_affected() == 0 {
        return Err(Error::Fenced);
    }
    Ok(())
}

/// All items are loaded or failed. Seals the group, which completes it if nothing is unfinished. Under
/// zero retention the parcel expires: nothing reads it any more but batches that have not loaded it.
pub async fn finish(shard: &Shard, batch: &DropinBatch, now: Timestamp) -> Result<(), Error> {
    let mut tx = shard.begin().await?;
    sqlx::query!(
        "with done as (
             update shard.dropin_batch set unpacked_at = coalesce(unpacked_at, $2),
                 unpacked = items, stalled_at = null, lease = null, leased_until = null
             where group_id = $1
             returning parcel, project
         )
         update shard.parcel p set expires_at = least(p.expires_at, $2)
         from done where p.id = done.parcel and exists (
             select from shard.retention r where r.project = done.project and r.days = 0)",
        batch.group.uuid(),
        now
    )
    .execute(&mut *tx)
    .await?;
    seal_group(&mut tx, batch, now).await?;
    Ok(tx.commit().await?)
}

/// The whole batch failed, and no further item is loaded. Seals the group. `failure` is JSON.
///
/// A batch that another process has finished meanwhile stays as it is.
pub async fn fail(
    shard: &Shard,
    batch: &DropinBatch,
    failure: Vec<u8>,
    now: Timestamp,
) -> Result<(), Error> {
    let (project, row) = (batch.project, batch.group.uuid());
    let keys = write_keys(shard, [(project, 1)]).await?;
    let identity = ValueIdentity {
        project,
        row,
        kind: ContentKind::DropinFailure,
    };
    let failure = keys.find(project)?.encrypt(identity, failure)?;
    let mut tx = shard.begin().await?;
    sqlx::query!(
        "update shard.dropin_batch set failure = $2, failed_at = coalesce(failed_at, $3),
             unpacked_at = coalesce(unpacked_at, $3), lease = null, leased_until = null
         where group_id = $1 and unpacked_at is null",
        row,
        failure,
        now
    )
    .execute(&mut *tx)
    .await?;
    seal_group(&mut tx, batch, now).await?;
    Ok(tx.commit().await?)
}

/// Runs last, after the transaction has stored that nothing is left to load: outcomes that were
/// stored before did not complete the group, and those that come later do. A group that is gone
/// needs no seal.
async fn seal_group(
    tx: &mut Transaction,
    batch: &DropinBatch,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "update shard.cargo_group set sealed_at = coalesce(sealed_at, $3),
             completed_at = case when total = succeeded + failed + cancelled
                 then coalesce(completed_at, $3) else completed_at end
         where id = $1 and project = $2",
        batch.group.uuid(),
        batch.project.uuid(),
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
