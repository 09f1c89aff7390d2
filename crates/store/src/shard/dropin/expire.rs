//! What becomes of a batch when the retention deletes its group, or its project is erased.

use domain::id::{self, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

/// Marks at most `limit` batches whose groups are deleted. `before` is the end of the retention:
/// younger groups are not deleted.
pub async fn archive(
    shard: &Shard,
    before: Timestamp,
    limit: i64,
    now: Timestamp,
) -> Result<u64, Error> {
    let archived = sqlx::query!(
        "update shard.dropin_batch set archived_at = $2, options = null, failure = null
         where group_id in (
             select b.group_id from shard.dropin_batch b
             where b.group_id < $1 and b.archived_at is null
                 and not exists (select from shard.cargo_group g where g.id = b.group_id)
             order by b.group_id limit $3)",
        id::first_id_at(before),
        now,
        limit
    )
    .execute(&shard.background)
    .await?;
    Ok(archived.rows_affected())
}

/// Deletes at most `limit` batches that were archived before this moment.
pub async fn delete_archived(shard: &Shard, before: Timestamp, limit: i64) -> Result<u64, Error> {
    let deleted = sqlx::query!(
        "delete from shard.dropin_batch where group_id in (
             select group_id from shard.dropin_batch
             where group_id < $1 and archived_at < $2 order by group_id limit $3)",
        id::first_id_at(before),
        before,
        limit
    )
    .execute(&shard.background)
    .await?;
    Ok(deleted.rows_affected())
}

/// Deletes the batches of a project. Their groups are deleted by themselves.
pub(crate) async fn delete_of_project(shard: &Shard, project: ProjectId) -> Result<(), Error> {
    sqlx::query!(
        "delete from shard.dropin_batch where project = $1",
        project.uuid()
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}
