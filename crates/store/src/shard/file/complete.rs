//! The caller says that the bytes are there; whoever waits for the verdict asks here.

use domain::id::{FileId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::file::find::find;
use crate::shard::file::row::{File, Part, files};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completed {
    /// It is to be looked at now.
    Begun(File),
    /// It was not uploading.
    Already(File),
    NotFound,
}

/// From uploading to validating, due at once. `parts` are those of a multipart upload, in order.
pub async fn complete(
    shard: &Shard,
    project: ProjectId,
    file: FileId,
    parts: Option<&[Part]>,
    now: Timestamp,
) -> Result<Completed, Error> {
    let etags: Option<Vec<String>> =
        parts.map(|parts| parts.iter().map(|part| part.etag.clone()).collect());
    let checksums: Option<Vec<Option<Vec<u8>>>> = parts.map(|parts| {
        let sums = parts.iter().map(|part| part.checksum);
        sums.map(|sum| sum.map(|sum| sum.0.to_vec())).collect()
    });
    let row = files!(
        "f as (
             update shard.file set status = 'validating', completed_at = $5, due_at = $5,
                 etags = $3, checksums = $4
             where id = $1 and project = $2 and status = 'uploading'
             returning *
         )",
        file.uuid(),
        project.uuid(),
        etags.as_deref(),
        checksums as Option<Vec<Option<Vec<u8>>>>,
        now
    )
    .fetch_optional(&shard.pool)
    .await?;
    if let Some(row) = row {
        return Ok(Completed::Begun(row.try_into()?));
    }
    let found = find(shard, project, file).await?;
    Ok(found.map_or(Completed::NotFound, Completed::Already))
}

/// Those of these files on which the verdict is there, whatever it is.
pub async fn statuses(shard: &Shard, ids: &[FileId]) -> Result<Vec<File>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = files!(
        "f as (
             select * from shard.file
             where id = any($1) and status in ('ready', 'failed', 'expired')
         )",
        &ids
    )
    .fetch_all(&shard.pool)
    .await?;
    rows.into_iter().map(File::try_from).collect()
}
