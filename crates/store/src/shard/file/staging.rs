//! Cleanup of staging: files whose upload has ended and that may still have bytes there.

use domain::id::FileId;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

/// Files whose staging is still to be cleaned, with their multipart uploads, ordered by id.
pub async fn list_staged(
    shard: &Shard,
    after: Option<FileId>,
    most: i64,
) -> Result<Vec<(FileId, Option<String>)>, Error> {
    let rows = sqlx::query!(
        "select id, upload from shard.file
         where staged and status in ('ready', 'failed', 'expired') and id > $1
         order by id limit $2",
        after.map_or(Uuid::nil(), FileId::uuid),
        most
    )
    .fetch_all(&shard.pool)
    .await?;
    let staged = rows.into_iter().map(|row| (row.id.into(), row.upload));
    Ok(staged.collect())
}

/// Records that staging has no bytes of this file any more.
pub async fn mark_cleaned(shard: &Shard, file: FileId) -> Result<(), Error> {
    sqlx::query!(
        "update shard.file set staged = false
         where id = $1 and status in ('ready', 'failed', 'expired')",
        file.uuid()
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}
