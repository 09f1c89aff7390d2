//! The patrol's queries: it compares the object store's listing of a berth with the rows.

use std::collections::{HashMap, HashSet};

use domain::file::FileStatus;
use domain::id::{Berth, FileId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

/// The state of a file, for the patrol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    pub status: FileStatus,
    /// The object store's id of its multipart upload.
    pub upload: Option<String>,
}

/// Adds the berths of all organizations on this shard. New ones are due at once.
pub async fn add_berths(shard: &Shard, now: Timestamp) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.patrol (berth, due_at)
         select distinct shard.berth(organization), $1::timestamptz from shard.account
         on conflict (berth) do nothing",
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// Takes the berth that is due longest and makes it due again at `next`. If the node dies
/// meanwhile, the berth is checked again then.
pub async fn claim_due_berth(
    shard: &Shard,
    now: Timestamp,
    next: Timestamp,
) -> Result<Option<Berth>, Error> {
    let berth = sqlx::query_scalar!(
        "update shard.patrol set due_at = $2 where berth = (
             select berth from shard.patrol where due_at <= $1
             order by due_at limit 1 for update skip locked
         )
         returning berth",
        now,
        next
    )
    .fetch_optional(&shard.pool)
    .await?;
    berth
        .map(|berth| {
            let berth = u16::try_from(berth).ok().and_then(Berth::new);
            berth.ok_or(Error::Corrupt {
                table: "patrol",
                column: "berth",
            })
        })
        .transpose()
}

/// The state of these files. Files that are missing in the result never existed.
pub async fn find_files(
    shard: &Shard,
    ids: &[FileId],
) -> Result<HashMap<FileId, KnownFile>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        "select id, status, upload from shard.file where id = any($1)",
        &ids
    )
    .fetch_all(&shard.pool)
    .await?;
    let known = rows.into_iter().map(|row| {
        let (status, upload) = (parse_status(&row.status)?, row.upload);
        Ok((row.id.into(), KnownFile { status, upload }))
    });
    known.collect()
}

/// The state of a published object, for the patrol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedObject {
    /// The status of the file with the same id, which was uploaded first.
    pub file: Option<FileStatus>,
    /// Whether files use the object.
    pub is_live: bool,
}

/// The state of the objects with these ids, read in one snapshot: a file that is published
/// meanwhile never appears as ready without its object.
pub async fn find_published(
    shard: &Shard,
    ids: &[FileId],
) -> Result<HashMap<FileId, PublishedObject>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        r#"select listed.id as "id!", f.status as "status?",
               (o.id is not null and o.gone_at is null) as "is_live!"
           from unnest($1::uuid[]) as listed (id)
               left join shard.file f on f.id = listed.id
               left join shard.object o on o.id = listed.id"#,
        &ids
    )
    .fetch_all(&shard.pool)
    .await?;
    let known = rows.into_iter().map(|row| {
        let file = row.status.as_deref().map(parse_status).transpose()?;
        let is_live = row.is_live;
        Ok((row.id.into(), PublishedObject { file, is_live }))
    });
    known.collect()
}

fn parse_status(status: &str) -> Result<FileStatus, Error> {
    FileStatus::parse(status).ok_or(Error::Corrupt {
        table: "file",
        column: "status",
    })
}

/// Which of these objects are in use.
pub async fn find_live_objects(shard: &Shard, ids: &[FileId]) -> Result<HashSet<FileId>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let live = sqlx::query_scalar!(
        "select id from shard.object where id = any($1) and gone_at is null",
        &ids
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(live.into_iter().map(FileId::from_uuid).collect())
}

/// The objects of a berth whose bytes must be in the object store, ordered by id: the order in
/// which the store lists them.
pub async fn list_live_objects(
    shard: &Shard,
    berth: Berth,
    after: Option<FileId>,
    most: i64,
) -> Result<Vec<FileId>, Error> {
    let live = sqlx::query_scalar!(
        "select id from shard.object
         where shard.berth(id) = $1 and id > $2 and gone_at is null order by id limit $3",
        i16::try_from(berth.number()).unwrap_or(i16::MAX),
        after.map_or(Uuid::nil(), FileId::uuid),
        most
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(live.into_iter().map(FileId::from_uuid).collect())
}
