//! References from cargo to files. A referenced file is kept until the outcome of the cargo.

use std::collections::{BTreeMap, HashMap};

use domain::file::{FileStatus, MediaType, ReferencedFile};
use domain::id::{FileId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::file::row::corrupt;
use crate::shard::object::StructureRow;

struct Row {
    id: Uuid,
    status: String,
    media_type: String,
    size_bytes: i64,
    expires_at: Option<Timestamp>,
    pinned: bool,
    width: Option<i32>,
    height: Option<i32>,
    pages: Option<i32>,
    milliseconds: Option<i64>,
}

/// The literal selects the files, as `f`.
macro_rules! referenced {
    ($f:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Row,
            "with f as (" + $f + r#")
             select f.id as "id!", f.status as "status!", f.media_type as "media_type!",
                 f.size_bytes as "size_bytes!", f.expires_at, f.pinned as "pinned!",
                 o.width as "width?", o.height as "height?", o.pages as "pages?",
                 o.milliseconds as "milliseconds?"
             from f left join shard.object o on o.id = f.object"#
            $(, $argument)*
        )
    };
}

/// The stored bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredObject {
    pub media_type: MediaType,
    pub size_bytes: u64,
    pub object: FileId,
}

/// Those of these files whose bytes are stored, in any project: the load was checked before.
pub async fn find_stored(
    shard: &Shard,
    files: &[FileId],
) -> Result<HashMap<FileId, StoredObject>, Error> {
    let ids: Vec<Uuid> = files.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        r#"select f.id, f.media_type, f.size_bytes, o.id as object
           from shard.file f join shard.object o on o.id = f.object
           where f.id = any($1) and o.gone_at is null"#,
        &ids
    )
    .fetch_all(&shard.pool)
    .await?;
    let stored = rows.into_iter().map(|row| {
        let media_type = MediaType::parse(&row.media_type);
        let stored = StoredObject {
            media_type: media_type.ok_or_else(corrupt("media_type"))?,
            size_bytes: u64::try_from(row.size_bytes).unwrap_or_default(),
            object: row.object.into(),
        };
        Ok((row.id.into(), stored))
    });
    stored.collect()
}

/// Those of these files that belong to the project.
pub async fn find(
    shard: &Shard,
    project: ProjectId,
    files: &[FileId],
) -> Result<HashMap<FileId, ReferencedFile>, Error> {
    if files.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<Uuid> = files.iter().map(|id| id.uuid()).collect();
    let rows = referenced!(
        "select * from shard.file where id = any($1) and project = $2",
        &ids,
        project.uuid()
    );
    read(rows.fetch_all(&shard.pool).await?)
}

/// Locks these files until the commit, so that ready files stay ready. For files whose project was
/// checked before.
pub async fn lock(
    tx: &mut Transaction,
    files: &[FileId],
) -> Result<HashMap<FileId, ReferencedFile>, Error> {
    let ids: Vec<Uuid> = files.iter().map(|id| id.uuid()).collect();
    let rows = referenced!(
        "select * from shard.file where id = any($1) order by id for no key update",
        &ids
    );
    read(rows.fetch_all(&mut **tx).await?)
}

/// References that end with a group of outcomes.
#[derive(Debug, Default)]
pub(crate) struct EndedReferences {
    fewer: BTreeMap<Uuid, i32>,
}

impl EndedReferences {
    pub(crate) fn add(&mut self, files: &[Uuid]) {
        for file in files {
            *self.fewer.entry(*file).or_default() += 1;
        }
    }

    /// Runs after the settlement: a transaction that has locked a file never waits for an account.
    pub(crate) async fn release(self, tx: &mut Transaction) -> Result<(), Error> {
        if self.fewer.is_empty() {
            return Ok(());
        }
        let (files, counts): (Vec<Uuid>, Vec<i32>) = self.fewer.into_iter().unzip();
        sqlx::query!(
            "with locked as materialized (
                 select id from shard.file where id = any($1) order by id for no key update
             )
             update shard.file f set refs = f.refs - fewer.count
             from unnest($1::uuid[], $2::int[]) as fewer (id, count)
                 join locked on locked.id = fewer.id
             where f.id = fewer.id",
            &files,
            &counts
        )
        .execute(&mut **tx)
        .await?;
        Ok(())
    }
}

fn read(rows: Vec<Row>) -> Result<HashMap<FileId, ReferencedFile>, Error> {
    let read = rows.into_iter().map(|row| {
        let media_type = MediaType::parse(&row.media_type).ok_or_else(corrupt("media_type"))?;
        let structure = StructureRow {
            width: row.width,
            height: row.height,
            pages: row.pages,
            milliseconds: row.milliseconds,
        };
        let status = FileStatus::parse(&row.status).ok_or_else(corrupt("status"))?;
        let file = ReferencedFile {
            status,
            media_type,
            size_bytes: u64::try_from(row.size_bytes).map_err(|_| corrupt("size_bytes")())?,
            structure: (status == FileStatus::Ready)
                .then(|| structure.read(media_type))
                .flatten(),
            expires_at: row.expires_at,
            pinned: row.pinned,
        };
        Ok((row.id.into(), file))
    });
    read.collect()
}
