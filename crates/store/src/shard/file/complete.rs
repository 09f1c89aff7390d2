//! Completion of an upload by the caller, and the verdicts that requests wait for.

use domain::id::{FileId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::file::find::find;
use crate::shard::file::row::{FileRow, UploadPart, files, read_file, read_files};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadCompletion {
    /// The file is queued for the scan.
    ValidationStarted(FileRow),
    /// The file was not uploading; nothing was changed.
    NotUploading(FileRow),
    NotFound,
}

/// Changes a file from uploading to validating, due at once. `parts` are the parts of a multipart
/// upload, in order.
pub async fn complete(
    shard: &Shard,
    project: ProjectId,
    file: FileId,
    parts: Option<&[UploadPart]>,
    now: Timestamp,
) -> Result<UploadCompletion, Error> {
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
    if let Some(started) = read_file(shard, row).await? {
        return Ok(UploadCompletion::ValidationStarted(started));
    }
    let found = find(shard, project, file).await?;
    Ok(found.map_or(UploadCompletion::NotFound, UploadCompletion::NotUploading))
}

/// Those of these files that have a verdict or have expired.
pub async fn find_with_verdict(shard: &Shard, ids: &[FileId]) -> Result<Vec<FileRow>, Error> {
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
    read_files(shard, rows).await
}
