//! The stored bytes of ready files, deduplicated per project. An object has the id of the file
//! that was uploaded first.
//!
//! A transaction that attaches or detaches a file has locked the organization's storage row. An
//! object without files is never used again: its bytes are removed, and then its row.

use std::collections::BTreeMap;

use domain::file::{FileDeclaration, FileKind, FileStructure, MediaType};
use domain::id::FileId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::number::signed;
use crate::shard::storage::StorageChange;

/// Objects whose bytes are to be removed, those that wait longest first.
pub async fn list_gone(shard: &Shard, most: i64) -> Result<Vec<FileId>, Error> {
    let gone = sqlx::query_scalar!(
        "select id from shard.object where gone_at is not null order by gone_at limit $1",
        most
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(gone.into_iter().map(FileId::from_uuid).collect())
}

/// Deletes the row of an object whose bytes are no longer in the object store.
pub async fn delete(shard: &Shard, object: FileId) -> Result<(), Error> {
    sqlx::query!(
        "delete from shard.object where id = $1 and gone_at is not null",
        object.uuid()
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// The object that already stores these bytes for the project.
pub(crate) async fn find_for_deduplication(
    tx: &mut Transaction,
    project: Uuid,
    declared: &FileDeclaration,
) -> Result<Option<Uuid>, Error> {
    let found = sqlx::query_scalar!(
        "select id from shard.object
         where project = $1 and sha256 = $2 and size_bytes = $3 and media_type = $4
             and gone_at is null",
        project,
        &declared.sha256.0[..],
        signed(declared.size_bytes),
        declared.media_type.as_str()
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(found)
}

/// Adds one file to an object.
pub(crate) async fn attach(tx: &mut Transaction, object: Uuid) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.object set files = files + 1 where id = $1 and gone_at is null",
        object
    )
    .execute(&mut **tx)
    .await?;
    if changed.rows_affected() == 1 {
        Ok(())
    } else {
        Err(Error::Fenced)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectOwner {
    pub(crate) organization: Uuid,
    pub(crate) project: Uuid,
}

/// A new object with its first file.
pub(crate) async fn insert(
    tx: &mut Transaction,
    id: Uuid,
    owner: ObjectOwner,
    declared: &FileDeclaration,
    structure: FileStructure,
    now: Timestamp,
) -> Result<(), Error> {
    let columns = StructureRow::from(structure);
    sqlx::query!(
        "insert into shard.object (id, organization, project, sha256, size_bytes, media_type,
             width, height, pages, milliseconds, files, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11)",
        id,
        owner.organization,
        owner.project,
        &declared.sha256.0[..],
        signed(declared.size_bytes),
        declared.media_type.as_str(),
        columns.width,
        columns.height,
        columns.pages,
        columns.milliseconds,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Removes files from objects. Returns the objects that have none left, and subtracts their bytes
/// from `change`.
pub(crate) async fn detach(
    tx: &mut Transaction,
    fewer: &BTreeMap<Uuid, i32>,
    change: &mut StorageChange,
    now: Timestamp,
) -> Result<Vec<FileId>, Error> {
    let (ids, counts): (Vec<Uuid>, Vec<i32>) = fewer.iter().unzip();
    let rows = sqlx::query!(
        "update shard.object o set files = o.files - fewer.count,
             gone_at = case when o.files = fewer.count then $3::timestamptz end
         from unnest($1::uuid[], $2::int[]) as fewer (id, count)
         where o.id = fewer.id and o.gone_at is null
         returning o.id, o.organization, o.size_bytes, o.gone_at",
        &ids,
        &counts,
        now
    )
    .fetch_all(&mut **tx)
    .await?;
    let mut gone = Vec::new();
    for row in rows.into_iter().filter(|row| row.gone_at.is_some()) {
        change.add(row.organization, 0, -row.size_bytes);
        gone.push(row.id.into());
    }
    Ok(gone)
}

/// The columns of an object that describe its contents.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StructureRow {
    pub(crate) width: Option<i32>,
    pub(crate) height: Option<i32>,
    pub(crate) pages: Option<i32>,
    pub(crate) milliseconds: Option<i64>,
}

impl From<FileStructure> for StructureRow {
    fn from(structure: FileStructure) -> Self {
        let small = |count: u32| Some(i32::try_from(count).unwrap_or(i32::MAX));
        match structure {
            FileStructure::Image { width, height } => Self {
                width: small(width),
                height: small(height),
                ..Self::default()
            },
            FileStructure::Pages(pages) => Self {
                pages: small(pages),
                ..Self::default()
            },
            FileStructure::Text => Self::default(),
            FileStructure::Video { milliseconds } => Self {
                milliseconds: Some(signed(milliseconds)),
                ..Self::default()
            },
        }
    }
}

impl StructureRow {
    /// None if the columns of its kind are empty.
    pub(crate) fn read(self, media_type: MediaType) -> Option<FileStructure> {
        let small = |count: Option<i32>| u32::try_from(count?).ok();
        match (media_type.kind(), media_type) {
            (FileKind::Image, _) => Some(FileStructure::Image {
                width: small(self.width)?,
                height: small(self.height)?,
            }),
            (FileKind::Document, MediaType::Pdf) => small(self.pages).map(FileStructure::Pages),
            (FileKind::Document, _) => Some(FileStructure::Text),
            (FileKind::Video, _) => Some(FileStructure::Video {
                milliseconds: u64::try_from(self.milliseconds?).ok()?,
            }),
        }
    }
}
