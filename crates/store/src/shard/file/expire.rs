//! The expiry of ready files, and of objects that no file uses any more.

use std::collections::BTreeMap;

use domain::id::FileId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::object;
use crate::shard::storage::{self, StorageChange};

/// A ready file that this transaction has locked.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadyFile {
    pub(super) id: Uuid,
    pub(super) organization: Uuid,
    pub(super) object: Uuid,
}

/// Expires files that are past their time and that no open cargo references. Returns how many, and
/// the objects whose bytes are to be removed.
pub async fn expire(
    shard: &Shard,
    now: Timestamp,
    most: i64,
) -> Result<(usize, Vec<FileId>), Error> {
    let late = sqlx::query_scalar!(
        "select id from shard.file
         where status = 'ready' and not pinned and expires_at <= $1 and refs = 0
         order by expires_at limit $2",
        now,
        most
    )
    .fetch_all(&shard.pool)
    .await?;
    if late.is_empty() {
        return Ok((0, Vec::new()));
    }
    let mut tx = shard.begin().await?;
    storage::lock_owners(&mut tx, &late).await?;
    // A file may have been referenced, pinned or extended meanwhile.
    let rows = sqlx::query_as!(
        ReadyFile,
        r#"select id, organization, object as "object!" from shard.file
           where id = any($1) and status = 'ready' and not pinned and expires_at <= $2 and refs = 0
           order by id for no key update"#,
        &late,
        now
    )
    .fetch_all(&mut *tx)
    .await?;
    let gone = expire_locked(&mut tx, &rows, now).await?;
    tx.commit().await?;
    Ok((rows.len(), gone))
}

/// The caller has locked the storage rows of their organizations.
pub(super) async fn expire_locked(
    tx: &mut Transaction,
    files: &[ReadyFile],
    now: Timestamp,
) -> Result<Vec<FileId>, Error> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut change = StorageChange::default();
    let mut fewer: BTreeMap<Uuid, i32> = BTreeMap::new();
    for file in files {
        change.add(file.organization, -1, 0);
        *fewer.entry(file.object).or_default() += 1;
    }
    let ids: Vec<Uuid> = files.iter().map(|file| file.id).collect();
    sqlx::query!(
        "update shard.file set status = 'expired', object = null, ended_at = $2
         where id = any($1)",
        &ids,
        now
    )
    .execute(&mut **tx)
    .await?;
    let gone = object::detach(tx, &fewer, &mut change, now).await?;
    change.write(tx).await?;
    Ok(gone)
}
