//! Deleting: a session is aborted, a file expires.

use domain::file::{Flaw, Status};
use domain::id::{FileId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::file::expire::{self, Ready};
use crate::shard::file::row::{File, corrupt, files};
use crate::shard::file::session;
use crate::shard::storage;

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one for each request, and most are done"
)]
pub enum Deleted {
    Done {
        /// As it stands now. What it may have in staging it says itself.
        file: File,
        /// The object whose bytes are to go.
        gone: Option<FileId>,
    },
    /// Open cargo name it.
    InUse,
    NotFound,
}

/// Whoever names the file afterwards finds it gone; whoever named it before keeps it from
/// going, unless it is forced.
pub async fn delete(
    shard: &Shard,
    project: ProjectId,
    file: FileId,
    force: bool,
    now: Timestamp,
) -> Result<Deleted, Error> {
    let mut tx = shard.begin().await?;
    storage::lock_of(&mut tx, &[file.uuid()]).await?;
    let found = files!(
        "f as (select * from shard.file where id = $1 and project = $2 for no key update)",
        file.uuid(),
        project.uuid()
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(found) = found else {
        tx.rollback().await?;
        return Ok(Deleted::NotFound);
    };
    let mut file = File::try_from(found)?;
    if file.status == Status::Ready && file.refs > 0 && !force {
        tx.rollback().await?;
        return Ok(Deleted::InUse);
    }
    let gone = end(&mut tx, &mut file, now).await?;
    tx.commit().await?;
    Ok(Deleted::Done { file, gone })
}

async fn end(
    tx: &mut Transaction,
    file: &mut File,
    now: Timestamp,
) -> Result<Option<FileId>, Error> {
    let id = file.id.uuid();
    match file.status {
        Status::Uploading | Status::Validating => {
            let open = ["uploading", "validating"];
            session::end(tx, &[id], &open, Flaw::UploadAborted).await?;
            file.status = Status::Failed;
            file.failure_reason = Some(Flaw::UploadAborted);
            Ok(None)
        }
        Status::Ready => {
            let ready = Ready {
                id,
                organization: file.organization.uuid(),
                object: file.object.take().ok_or_else(corrupt("object"))?.uuid(),
            };
            let gone = expire::end(tx, &[ready], now).await?;
            file.status = Status::Expired;
            Ok(gone.into_iter().next())
        }
        Status::Failed => {
            sqlx::query!("update shard.file set status = 'expired' where id = $1", id)
                .execute(&mut **tx)
                .await?;
            file.status = Status::Expired;
            Ok(None)
        }
        Status::Expired => Ok(None),
    }
}
