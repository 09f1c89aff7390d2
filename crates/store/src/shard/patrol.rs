//! The patrol: what the store lists of a berth, held against the rows.

use std::collections::{HashMap, HashSet};

use domain::file::Status;
use domain::id::{Berth, FileId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

/// A file as the patrol sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub status: Status,
    /// The store's name for its multipart upload.
    pub upload: Option<String>,
}

/// Enters the berths of all organizations here. Those that are new are due at once.
pub async fn enter(shard: &Shard, now: Timestamp) -> Result<(), Error> {
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

/// Takes the berth that is due longest and makes it due again at `next`. Whoever dies on the
/// way leaves it to the next round.
pub async fn take(shard: &Shard, now: Timestamp, next: Timestamp) -> Result<Option<Berth>, Error> {
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

/// What is known of these files; those that are missing never were.
pub async fn files(shard: &Shard, ids: &[FileId]) -> Result<HashMap<FileId, Known>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        "select id, status, upload from shard.file where id = any($1)",
        &ids
    )
    .fetch_all(&shard.pool)
    .await?;
    let known = rows.into_iter().map(|row| {
        let (status, upload) = (read(&row.status)?, row.upload);
        Ok((row.id.into(), Known { status, upload }))
    });
    known.collect()
}

/// Published bytes as the patrol sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The file that brought them.
    pub file: Option<Status>,
    /// Whether files have them.
    pub is_live: bool,
}

/// What is known of the bytes that these files brought, all of one moment: a file that is
/// published in between is never seen as ready without its object.
pub async fn published(shard: &Shard, ids: &[FileId]) -> Result<HashMap<FileId, Published>, Error> {
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
        let file = row.status.as_deref().map(read).transpose()?;
        let is_live = row.is_live;
        Ok((row.id.into(), Published { file, is_live }))
    });
    known.collect()
}

fn read(status: &str) -> Result<Status, Error> {
    Status::parse(status).ok_or(Error::Corrupt {
        table: "file",
        column: "status",
    })
}

/// Which of these objects are wanted.
pub async fn objects(shard: &Shard, ids: &[FileId]) -> Result<HashSet<FileId>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let live = sqlx::query_scalar!(
        "select id from shard.object where id = any($1) and gone_at is null",
        &ids
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(live.into_iter().map(FileId::from_uuid).collect())
}

/// The objects of a berth whose bytes must be in the store, in the order of their ids:
/// the order in which the store lists them.
pub async fn live(
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
