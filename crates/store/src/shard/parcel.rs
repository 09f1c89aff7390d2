//! Parcels: the items of a batch in another provider's format, as they came, in compressed blocks.
//!
//! A body is split into items while it arrives, so only one block of it is in memory. The blocks
//! count when the parcel is completed; those of a body that broke off are deleted.

use domain::dropin::Facade;
use domain::id::{OrganizationId, ParcelId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::encryption::{ContentKind, KeyRequest, ReadKeys, ValueIdentity};
use crate::number::unsigned;
use crate::shard::project_keys::read_keys;

mod block;
mod expire;
mod quota;
mod writer;

pub use crate::shard::parcel::block::{ParcelBlock, read_block};
pub use crate::shard::parcel::expire::{delete_expired, expire_at, expire_older};
pub(crate) use crate::shard::parcel::expire::{delete_of_project, limit_age};
pub use crate::shard::parcel::quota::{
    MAX_INCOMPLETE_PARCELS, MAX_PARCEL_BYTES, ParcelRefusal, remaining_bytes,
};
pub use crate::shard::parcel::writer::{NewParcel, ParcelWriter};

/// A completed parcel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParcelRow {
    pub id: ParcelId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub facade: Facade,
    pub filename: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub items: u64,
    /// Of all items together.
    pub bytes: u64,
}

struct Row {
    id: Uuid,
    organization: Uuid,
    project: Uuid,
    facade: i16,
    filename: Option<String>,
    created_at: Timestamp,
    expires_at: Timestamp,
    items: i64,
    bytes: i64,
}

/// A completed parcel of the project that has not expired.
pub async fn find(
    shard: &Shard,
    project: ProjectId,
    facade: Facade,
    parcel: ParcelId,
    now: Timestamp,
) -> Result<Option<ParcelRow>, Error> {
    let row = sqlx::query_as!(
        Row,
        "select id, organization, project, facade, filename, created_at, expires_at, items, bytes
         from shard.parcel
         where id = $1 and project = $2 and facade = $3 and completed_at is not null
             and expires_at > $4",
        parcel.uuid(),
        project.uuid(),
        facade.code(),
        now
    )
    .fetch_optional(&shard.reads)
    .await?;
    let found = decrypt_rows(shard, row.into_iter().collect()).await?;
    Ok(found.into_iter().next())
}

/// Completed parcels of the project that have not expired, newest first, older than `before`.
pub async fn list(
    shard: &Shard,
    project: ProjectId,
    facade: Facade,
    before: Option<ParcelId>,
    limit: u32,
    now: Timestamp,
) -> Result<Vec<ParcelRow>, Error> {
    let rows = sqlx::query_as!(
        Row,
        "select id, organization, project, facade, filename, created_at, expires_at, items, bytes
         from shard.parcel
         where project = $1 and facade = $2 and completed_at is not null and expires_at > $3
             and ($4::uuid is null or id < $4)
         order by id desc limit $5",
        project.uuid(),
        facade.code(),
        now,
        before.map(ParcelId::uuid),
        i64::from(limit)
    )
    .fetch_all(&shard.reads)
    .await?;
    decrypt_rows(shard, rows).await
}

/// Never in a transaction: the master key may take long.
async fn decrypt_rows(shard: &Shard, rows: Vec<Row>) -> Result<Vec<ParcelRow>, Error> {
    let mut request = KeyRequest::default();
    for row in &rows {
        request.add_text(row.project.into(), row.filename.as_deref());
    }
    let keys = read_keys(shard, &request).await?;
    rows.into_iter().map(|row| row.decrypt(&keys)).collect()
}

impl Row {
    fn decrypt(self, keys: &ReadKeys) -> Result<ParcelRow, Error> {
        let project = ProjectId::from(self.project);
        let identity = ValueIdentity {
            project,
            row: self.id,
            kind: ContentKind::ParcelFilename,
        };
        let filename = self.filename;
        let filename = filename.map(|text| keys.decrypt_text(identity, text));
        Ok(ParcelRow {
            id: self.id.into(),
            organization: self.organization.into(),
            project,
            facade: Facade::from_code(self.facade).ok_or(Error::Corrupt {
                table: "parcel",
                column: "facade",
            })?,
            filename: filename.transpose()?,
            created_at: self.created_at,
            expires_at: self.expires_at,
            items: unsigned(self.items),
            bytes: unsigned(self.bytes),
        })
    }
}
