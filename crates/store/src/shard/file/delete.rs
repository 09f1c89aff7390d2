//! Deletion: an upload session is aborted, a file expires.

use domain::file::{FileFailureReason, FileStatus};
use domain::id::{FileId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::file::expire::{self, ReadyFile};
use crate::shard::file::find::find;
use crate::shard::file::row::{FileRow, corrupt, files};
use crate::shard::file::upload_session;
use crate::shard::storage;

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one for each request, and most are done"
)]
pub enum FileDeletion {
    Done {
        /// The file after the deletion. `staged` says whether staging may still have its bytes.
        file: FileRow,
        /// The object whose bytes are to be removed.
        gone_object: Option<FileId>,
    },
    /// Open cargo references the file.
    InUse,
    NotFound,
}

/// Later loads cannot reference the file. Open cargo that references it prevents the deletion,
/// unless `force` is set.
pub async fn delete(
    shard: &Shard,
    project: ProjectId,
    file: FileId,
    force: bool,
    now: Timestamp,
) -> Result<FileDeletion, Error> {
    // Before the transaction: the master key may take long.
    let Some(before) = find(shard, project, file).await? else {
        return Ok(FileDeletion::NotFound);
    };
    let mut tx = shard.begin().await?;
    storage::lock_owners(&mut tx, &[file.uuid()]).await?;
    let found = files!(
        "f as (select * from shard.file where id = $1 and project = $2 for no key update)",
        file.uuid(),
        project.uuid()
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(found) = found else {
        tx.rollback().await?;
        return Ok(FileDeletion::NotFound);
    };
    let mut file = FileRow {
        filename: before.filename,
        metadata: before.metadata,
        ..FileRow::try_from(found)?
    };
    if file.status == FileStatus::Ready && file.refs > 0 && !force {
        tx.rollback().await?;
        return Ok(FileDeletion::InUse);
    }
    let gone = end_file(&mut tx, &mut file, now).await?;
    tx.commit().await?;
    Ok(FileDeletion::Done {
        file,
        gone_object: gone,
    })
}

async fn end_file(
    tx: &mut Transaction,
    file: &mut FileRow,
    now: Timestamp,
) -> Result<Option<FileId>, Error> {
    let id = file.id.uuid();
    match file.status {
        FileStatus::Uploading | FileStatus::Validating => {
            let open = ["uploading", "validating"];
            upload_session::fail_sessions(tx, &[id], &open, FileFailureReason::UploadAborted)
                .await?;
            file.status = FileStatus::Failed;
            file.failure_reason = Some(FileFailureReason::UploadAborted);
            Ok(None)
        }
        FileStatus::Ready => {
            let ready = ReadyFile {
                id,
                organization: file.organization.uuid(),
                object: file.object.take().ok_or_else(corrupt("object"))?.uuid(),
            };
            let gone = expire::expire_locked(tx, &[ready], now).await?;
            file.status = FileStatus::Expired;
            Ok(gone.into_iter().next())
        }
        FileStatus::Failed => {
            sqlx::query!(
                "update shard.file set status = 'expired', ended_at = $2 where id = $1",
                id,
                now
            )
            .execute(&mut **tx)
            .await?;
            file.status = FileStatus::Expired;
            Ok(None)
        }
        FileStatus::Expired => Ok(None),
    }
}
