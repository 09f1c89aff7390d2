//! The files of a project: ended as if their owner had deleted them, then without a name, then
//! gone.

use domain::id::{FileId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use super::MAX_ROWS_PER_TRANSACTION;
use crate::Error;
use crate::Shard;
use crate::shard::file;

pub(super) async fn erase(shard: &Shard, project: ProjectId, now: Timestamp) -> Result<(), Error> {
    let mut after = Uuid::nil();
    loop {
        let page = sqlx::query_scalar!(
            "select id from shard.file where project = $1 and id > $2 order by id limit $3",
            project.uuid(),
            after,
            MAX_ROWS_PER_TRANSACTION
        )
        .fetch_all(&shard.pool)
        .await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = *last;
        for id in &page {
            // One that open cargo references stays until the next run.
            file::delete(shard, project, FileId::from_uuid(*id), false, now).await?;
        }
        clear(shard, &page).await?;
    }
}

/// Removes what the caller declared. Deletes the rows whose staging is clean; sweep cleans the
/// others, which needs their rows.
async fn clear(shard: &Shard, files: &[Uuid]) -> Result<(), Error> {
    sqlx::query!(
        "update shard.file set filename = 'erased', filename_encrypted = null, metadata = null,
             sha256 = decode(repeat('00', 32), 'hex'),
             part_checksums = null, etags = null, checksums = null
         where id = any($1) and status in ('failed', 'expired') and filename <> 'erased'",
        files
    )
    .execute(&shard.pool)
    .await?;
    sqlx::query!(
        "delete from shard.file
         where id = any($1) and status in ('failed', 'expired') and not staged and refs = 0",
        files
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}
