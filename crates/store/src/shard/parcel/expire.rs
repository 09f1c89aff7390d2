//! Deletes parcels: expired ones, those of bodies that broke off, and those of an erased project.

use domain::id::{self, ParcelId, ProjectId};
use domain::retention::ProjectRetention;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

/// How many blocks one statement deletes: each may have megabytes.
const MAX_BLOCKS_PER_STATEMENT: i64 = 16;

/// Lets a parcel expire at a moment, which may be now. Sweep deletes it then, but not before the
/// last batch that reads it has loaded its items. False: the project has no such parcel.
pub async fn expire_at(
    shard: &Shard,
    project: ProjectId,
    parcel: ParcelId,
    moment: Timestamp,
) -> Result<bool, Error> {
    let changed = sqlx::query!(
        "update shard.parcel set expires_at = least(expires_at, $3)
         where id = $1 and project = $2",
        parcel.uuid(),
        project.uuid(),
        moment
    )
    .execute(&shard.pool)
    .await?;
    Ok(changed.rows_affected() > 0)
}

/// Applies the retention of a project to its parcels. One that expires earlier stays as it is.
pub(crate) async fn limit_age(
    shard: &Shard,
    project: Uuid,
    retention: ProjectRetention,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "update shard.parcel p set expires_at = limits.expires_at
         from (select q.id, case
                   -- What a failed batch did not load can be loaded by another one.
                   when $3 and exists (select from shard.dropin_batch b where b.parcel = q.id
                       and b.unpacked_at is not null and b.failed_at is null) then $4
                   else q.created_at + make_interval(secs => $2) end as expires_at
               from shard.parcel q where q.project = $1) limits
         where p.id = limits.id and p.expires_at > limits.expires_at",
        project,
        retention.max_input_age().as_seconds_f64(),
        retention == ProjectRetention::Zero,
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// Lets all parcels expire that came before this moment: the retention of the installation.
pub async fn expire_older(shard: &Shard, before: Timestamp, now: Timestamp) -> Result<(), Error> {
    sqlx::query!(
        "update shard.parcel set expires_at = $2 where id < $1 and expires_at > $2",
        id::first_id_at(before),
        now
    )
    .execute(&shard.background)
    .await?;
    Ok(())
}

/// Deletes at most `limit` parcels that have expired and that no batch has to load any more.
/// Returns how many.
pub async fn delete_expired(shard: &Shard, now: Timestamp, limit: i64) -> Result<usize, Error> {
    let expired = sqlx::query_scalar!(
        "select p.id from shard.parcel p
         where p.expires_at <= $1 and not exists (
             select from shard.dropin_batch b where b.parcel = p.id and b.unpacked_at is null)
         order by p.expires_at limit $2",
        now,
        limit
    )
    .fetch_all(&shard.background)
    .await?;
    let mut deleted = 0;
    for parcel in expired {
        if close(shard, parcel).await? {
            delete_parcel(shard, parcel).await?;
            deleted += 1;
        }
    }
    Ok(deleted)
}

/// From now on, no batch is created from the parcel. False: a batch has to load its items first.
async fn close(shard: &Shard, parcel: Uuid) -> Result<bool, Error> {
    let mut tx = shard.begin().await?;
    // Waits for requests that are creating a batch from it. The next statement sees their batches.
    sqlx::query_scalar!(
        "select id from shard.parcel where id = $1 for update",
        parcel
    )
    .fetch_optional(&mut *tx)
    .await?;
    let closed = sqlx::query!(
        "update shard.parcel p set completed_at = null
         where p.id = $1 and not exists (
             select from shard.dropin_batch b where b.parcel = p.id and b.unpacked_at is null)",
        parcel
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(closed.rows_affected() > 0)
}

/// Deletes the parcels of a project. A batch whose items are not all loaded fails then.
pub(crate) async fn delete_of_project(shard: &Shard, project: ProjectId) -> Result<(), Error> {
    let parcels = sqlx::query_scalar!(
        "select id from shard.parcel where project = $1",
        project.uuid()
    )
    .fetch_all(&shard.pool)
    .await?;
    for parcel in parcels {
        delete_parcel(shard, parcel).await?;
    }
    Ok(())
}

/// No batch reads it any more. The row goes last: after an interruption the next call finds it.
async fn delete_parcel(shard: &Shard, parcel: Uuid) -> Result<(), Error> {
    loop {
        let deleted = sqlx::query!(
            "delete from shard.parcel_block where (parcel, block) in (
                 select parcel, block from shard.parcel_block where parcel = $1 limit $2)",
            parcel,
            MAX_BLOCKS_PER_STATEMENT
        )
        .execute(&shard.background)
        .await?;
        if deleted.rows_affected() == 0 {
            break;
        }
    }
    sqlx::query!("delete from shard.parcel where id = $1", parcel)
        .execute(&shard.background)
        .await?;
    Ok(())
}
