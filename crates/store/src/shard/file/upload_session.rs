//! Upload sessions that end without a ready file: failed, aborted, abandoned, or retracted.

use domain::file::{FileFailureReason, ScanStatus};
use domain::id::FileId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::node::Claim;
use crate::shard::storage::{self, StorageChange};

/// Fails a claimed file with the reason that the scan found. False when the claim was lost: then
/// nothing is written.
pub async fn fail(
    shard: &Shard,
    file: FileId,
    claim: Claim,
    flaw: FileFailureReason,
    scan_status: ScanStatus,
) -> Result<bool, Error> {
    let mut tx = shard.begin().await?;
    storage::lock_owners(&mut tx, &[file.uuid()]).await?;
    let failed = sqlx::query!(
        "update shard.file set status = 'failed', failure_reason = $4, scan_status = $5,
             due_at = null, node = null, epoch = null
         where id = $1 and node = $2 and epoch = $3 and status = 'validating'
         returning organization, size_bytes",
        file.uuid(),
        claim.node,
        claim.epoch,
        flaw.as_str(),
        scan_status.as_str()
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(failed) = failed else {
        tx.rollback().await?;
        return Ok(false);
    };
    let change = StorageChange::of(failed.organization, -1, -failed.size_bytes);
    change.write(&mut tx).await?;
    tx.commit().await?;
    Ok(true)
}

/// Fails sessions that have been uploading since before `before`. Returns their files.
pub async fn fail_abandoned(
    shard: &Shard,
    before: Timestamp,
    most: i64,
) -> Result<Vec<FileId>, Error> {
    let late = sqlx::query_scalar!(
        "select id from shard.file where status = 'uploading' and created_at < $1
         order by created_at limit $2",
        before,
        most
    )
    .fetch_all(&shard.pool)
    .await?;
    if late.is_empty() {
        return Ok(Vec::new());
    }
    let mut tx = shard.begin().await?;
    storage::lock_owners(&mut tx, &late).await?;
    let ended = fail_sessions(
        &mut tx,
        &late,
        &["uploading"],
        FileFailureReason::UploadAbandoned,
    )
    .await?;
    tx.commit().await?;
    Ok(ended)
}

/// Fails sessions in one of these statuses. The caller has locked the storage rows of their
/// organizations.
pub(super) async fn fail_sessions(
    tx: &mut Transaction,
    files: &[Uuid],
    statuses: &[&str],
    flaw: FileFailureReason,
) -> Result<Vec<FileId>, Error> {
    let statuses: Vec<String> = statuses.iter().map(|&status| status.to_owned()).collect();
    let rows = sqlx::query!(
        "update shard.file set status = 'failed', failure_reason = $3,
             due_at = null, node = null, epoch = null
         where id in (
             select id from shard.file where id = any($1) and status = any($2)
             order by id for no key update
         )
         returning id, organization, size_bytes",
        files,
        &statuses,
        flaw.as_str()
    )
    .fetch_all(&mut **tx)
    .await?;
    let mut change = StorageChange::default();
    let mut ended = Vec::with_capacity(rows.len());
    for row in rows {
        change.add(row.organization, -1, -row.size_bytes);
        ended.push(row.id.into());
    }
    change.write(tx).await?;
    Ok(ended)
}

/// Deletes a session for which no upload grant could be made.
pub async fn retract(shard: &Shard, file: FileId) -> Result<(), Error> {
    let mut tx = shard.begin().await?;
    storage::lock_owners(&mut tx, &[file.uuid()]).await?;
    let gone = sqlx::query!(
        "delete from shard.file where id = $1 and status = 'uploading'
         returning organization, size_bytes",
        file.uuid()
    )
    .fetch_optional(&mut *tx)
    .await?;
    if let Some(gone) = gone {
        let change = StorageChange::of(gone.organization, -1, -gone.size_bytes);
        change.write(&mut tx).await?;
    }
    tx.commit().await?;
    Ok(())
}
