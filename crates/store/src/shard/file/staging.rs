//! What settled files may have left in staging: looked for until it is surely gone.

use domain::id::FileId;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

/// Settled files whose staging is still to be looked at, with their multipart uploads, in
/// the order of their ids.
pub async fn staged(
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

/// Nothing of this file is in staging any more.
pub async fn cleaned(shard: &Shard, file: FileId) -> Result<(), Error> {
    sqlx::query!(
        "update shard.file set staged = false
         where id = $1 and status in ('ready', 'failed', 'expired')",
        file.uuid()
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}
