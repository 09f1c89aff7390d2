//! What a caller may change of a file that has not failed or expired.

use domain::file::expires_at;
use domain::id::{FileId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::encryption::{ContentKind, ValueIdentity};
use crate::shard::file::find::find;
use crate::shard::file::row::{FileRow, files, read_file};
use crate::shard::project_keys::write_keys;

/// None leaves a property as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileChange {
    /// Counted from now.
    pub ttl_seconds: Option<u32>,
    /// Replaces the old metadata.
    pub metadata: Option<Vec<u8>>,
    pub pinned: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one for each request, and most are done"
)]
pub enum FileChangeResult {
    Done(FileRow),
    /// The file has failed or expired.
    WrongState,
    NotFound,
}

pub async fn update(
    shard: &Shard,
    project: ProjectId,
    file: FileId,
    change: &FileChange,
    now: Timestamp,
) -> Result<FileChangeResult, Error> {
    let metadata = match &change.metadata {
        Some(metadata) => {
            let keys = write_keys(shard, [(project, 1)]).await?;
            let identity = ValueIdentity {
                project,
                row: file.uuid(),
                kind: ContentKind::FileMetadata,
            };
            let key = keys.find(project)?;
            Some(key.encrypt(identity, metadata.clone())?)
        }
        None => None,
    };
    let ttl = change.ttl_seconds;
    let row = files!(
        "f as (
             update shard.file set ttl_seconds = coalesce($3, ttl_seconds),
                 expires_at = case status when 'ready' then coalesce($4, expires_at) end,
                 metadata = coalesce($5, metadata), pinned = coalesce($6, pinned)
             where id = $1 and project = $2 and status in ('uploading', 'validating', 'ready')
             returning *
         )",
        file.uuid(),
        project.uuid(),
        ttl.map(|ttl| i32::try_from(ttl).unwrap_or(i32::MAX)),
        ttl.map(|ttl| expires_at(now, ttl)),
        metadata.as_deref(),
        change.pinned
    )
    .fetch_optional(&shard.pool)
    .await?;
    if let Some(changed) = read_file(shard, row).await? {
        return Ok(FileChangeResult::Done(changed));
    }
    let found = find(shard, project, file).await?;
    Ok(found.map_or(FileChangeResult::NotFound, |_| FileChangeResult::WrongState))
}
