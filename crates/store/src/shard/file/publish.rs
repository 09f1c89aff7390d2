//! The one way to ready by upload: bytes that were read, hashed, probed and scanned.

use domain::file::{Structure, expiry};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::number::signed;
use crate::shard::file::row::File;
use crate::shard::node::Claim;
use crate::shard::object;
use crate::shard::storage::{self, Change};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// It has its bytes under its own name or, not `own`, where the project had them already:
    /// then its copy is a stray.
    Ready { own: bool },
    /// The claim is gone or the file was aborted: its copy is a stray.
    Moved,
}

/// Called once its copy is in place.
pub async fn publish(
    shard: &Shard,
    file: &File,
    claim: Claim,
    structure: Structure,
    now: Timestamp,
) -> Result<Published, Error> {
    let mut tx = shard.begin().await?;
    let (id, owners) = (
        file.id.uuid(),
        (file.organization.uuid(), file.project.uuid()),
    );
    storage::lock(&mut tx, owners.0).await?;
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
        return Ok(Published::Moved);
    };
    let declared = file.declared();
    let known = object::alike(&mut tx, owners.1, &declared).await?;
    match known {
        Some(object) => {
            object::attach(&mut tx, object).await?;
            // Declared once more than it is stored.
            let change = Change::of(owners.0, 0, -signed(declared.size_bytes));
            change.write(&mut tx).await?;
        }
        None => object::insert(&mut tx, id, owners, &declared, structure, now).await?,
    }
    sqlx::query!(
        "update shard.file set status = 'ready', scan_status = 'clean', object = $2,
             expires_at = $3, due_at = null, node = null, epoch = null
         where id = $1",
        id,
        known.unwrap_or(id),
        expiry(now, u32::try_from(ttl).unwrap_or_default())
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    let own = known.is_none();
    Ok(Published::Ready { own })
}
