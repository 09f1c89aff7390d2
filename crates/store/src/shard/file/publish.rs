//! Publication of an uploaded file whose bytes were read, hashed, probed and scanned. No other
//! code makes an uploaded file ready.

use domain::file::{FileStructure, expires_at};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::number::signed;
use crate::shard::file::row::FileRow;
use crate::shard::node::Claim;
use crate::shard::object::{self, ObjectOwner};
use crate::shard::storage::{self, StorageChange};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishResult {
    /// The file is ready. It has a new object, or uses one that the project had already: then its
    /// copy in the object store is unused.
    Ready { is_new_object: bool },
    /// The claim was lost or the file was aborted: its copy in the object store is unused.
    Fenced,
}

/// Called after the copy was made in the object store.
pub async fn publish(
    shard: &Shard,
    file: &FileRow,
    claim: Claim,
    structure: FileStructure,
    now: Timestamp,
) -> Result<PublishResult, Error> {
    let mut tx = shard.begin().await?;
    let id = file.id.uuid();
    let owner = ObjectOwner {
        organization: file.organization.uuid(),
        project: file.project.uuid(),
    };
    storage::lock(&mut tx, owner.organization).await?;
    // The time to live may have been changed since it was claimed.
    let ttl = sqlx::query_scalar!(
        "select ttl_seconds from shard.file
         where id = $1 and status = 'validating' and node = $2 and epoch = $3
         for no key update",
        id,
        claim.node,
        claim.epoch
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(ttl) = ttl else {
        tx.rollback().await?;
        return Ok(PublishResult::Fenced);
    };
    let declared = file.declared();
    let known = object::find_for_deduplication(&mut tx, owner.project, &declared).await?;
    match known {
        Some(object) => {
            object::attach(&mut tx, object).await?;
            // Its declared bytes were counted, and the object's bytes are counted already.
            let change = StorageChange::of(owner.organization, 0, -signed(declared.size_bytes));
            change.write(&mut tx).await?;
        }
        None => object::insert(&mut tx, id, owner, &declared, structure, now).await?,
    }
    sqlx::query!(
        "update shard.file set status = 'ready', scan_status = 'clean', object = $2,
             expires_at = $3, due_at = null, node = null, epoch = null
         where id = $1",
        id,
        known.unwrap_or(id),
        expires_at(now, u32::try_from(ttl).unwrap_or_default())
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    let own = known.is_none();
    Ok(PublishResult::Ready { is_new_object: own })
}
