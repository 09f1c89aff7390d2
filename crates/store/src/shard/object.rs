//! The bytes of ready files. Each object belongs to one project and is named after the
//! file that brought it.
//!
//! Whoever attaches a file or takes one away holds the organization's storage row. An
//! object that no file wants is never wanted again: its bytes go, and then its row.

use std::collections::BTreeMap;

use domain::file::{Declared, Kind, MediaType, Structure};
use domain::id::FileId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::number::signed;
use crate::shard::storage::Change;

/// Objects whose bytes are to go, those that wait longest first.
pub async fn gone(shard: &Shard, most: i64) -> Result<Vec<FileId>, Error> {
    let gone = sqlx::query_scalar!(
        "select id from shard.object where gone_at is not null order by gone_at limit $1",
        most
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(gone.into_iter().map(FileId::from_uuid).collect())
}

/// Its bytes are no longer in the store.
pub async fn forget(shard: &Shard, object: FileId) -> Result<(), Error> {
    sqlx::query!(
        "delete from shard.object where id = $1 and gone_at is not null",
        object.uuid()
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// Where a project has these bytes already.
pub(crate) async fn alike(
    tx: &mut Transaction,
    project: Uuid,
    declared: &Declared,
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

/// One file more has its bytes there.
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
        Err(Error::Moved)
    }
}

/// New bytes, with the one file that brought them.
pub(crate) async fn insert(
    tx: &mut Transaction,
    id: Uuid,
    (organization, project): (Uuid, Uuid),
    declared: &Declared,
    structure: Structure,
    now: Timestamp,
) -> Result<(), Error> {
    let columns = StructureRow::from(structure);
    sqlx::query!(
        "insert into shard.object (id, organization, project, sha256, size_bytes, media_type,
             width, height, pages, milliseconds, files, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11)",
        id,
        organization,
        project,
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

/// So many files fewer each. Says which objects are gone with that, and notes their bytes
/// as no longer stored.
pub(crate) async fn detach(
    tx: &mut Transaction,
    fewer: &BTreeMap<Uuid, i32>,
    change: &mut Change,
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

/// The columns of an object that say what was read from its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StructureRow {
    pub(crate) width: Option<i32>,
    pub(crate) height: Option<i32>,
    pub(crate) pages: Option<i32>,
    pub(crate) milliseconds: Option<i64>,
}

impl From<Structure> for StructureRow {
    fn from(structure: Structure) -> Self {
        let small = |count: u32| Some(i32::try_from(count).unwrap_or(i32::MAX));
        match structure {
            Structure::Image { width, height } => Self {
                width: small(width),
                height: small(height),
                ..Self::default()
            },
            Structure::Pages(pages) => Self {
                pages: small(pages),
                ..Self::default()
            },
            Structure::Text => Self::default(),
            Structure::Video { milliseconds } => Self {
                milliseconds: Some(signed(milliseconds)),
                ..Self::default()
            },
        }
    }
}

impl StructureRow {
    /// Nothing where the columns of its kind are empty.
    pub(crate) fn read(self, media_type: MediaType) -> Option<Structure> {
        let small = |count: Option<i32>| u32::try_from(count?).ok();
        match (media_type.kind(), media_type) {
            (Kind::Image, _) => Some(Structure::Image {
                width: small(self.width)?,
                height: small(self.height)?,
            }),
            (Kind::Document, MediaType::Pdf) => small(self.pages).map(Structure::Pages),
            (Kind::Document, _) => Some(Structure::Text),
            (Kind::Video, _) => Some(Structure::Video {
                milliseconds: u64::try_from(self.milliseconds?).ok()?,
            }),
        }
    }
}
