//! Batches, resends and files that have ended.

use domain::id::{self, FileId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

/// Deletes at most `most` batches that ended before this moment. Returns how many.
pub async fn delete_batches(shard: &Shard, before: Timestamp, most: i64) -> Result<u64, Error> {
    let deleted = sqlx::query!(
        "delete from shard.batch where id in (
             select id from shard.batch where state = 'ended' and ended_at < $1
             order by ended_at limit $2 for update skip locked)",
        before,
        most
    )
    .execute(&shard.background)
    .await?;
    Ok(deleted.rows_affected())
}

/// Deletes at most `most` resends that ended before this moment. Returns how many.
pub async fn delete_resends(shard: &Shard, before: Timestamp, most: i64) -> Result<u64, Error> {
    let deleted = sqlx::query!(
        "delete from shard.resend where id in (
             select id from shard.resend
             where id < $1 and state <> 'running' and ended_at < $2
             order by id limit $3 for update skip locked)",
        id::first_id_at(before),
        before,
        most
    )
    .execute(&shard.background)
    .await?;
    Ok(deleted.rows_affected())
}

/// The result of examining one page of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExaminedFiles {
    /// The last file of the page. None: no file is left.
    pub last: Option<FileId>,
    pub deleted: u64,
}

/// Examines at most `most` files in the order of their ids, of those created before `before`, and
/// deletes the ones that ended before it. Rows whose bytes may still be in staging stay.
pub async fn delete_files(
    shard: &Shard,
    after: Option<FileId>,
    before: Timestamp,
    most: i64,
    now: Timestamp,
) -> Result<ExaminedFiles, Error> {
    let row = sqlx::query!(
        r#"with page as (
               select id from shard.file where id > $1 and id < $2 order by id limit $4
           ), dated as (
               -- A server of the version before ended them: their time begins now.
               update shard.file f set ended_at = $5 from page
               where f.id = page.id and f.status = 'expired' and f.ended_at is null
           ), gone as (
               delete from shard.file f using page
               where f.id = page.id and f.status in ('failed', 'expired') and not f.staged
                   and f.refs = 0
                   and case when f.status = 'failed'
                       then coalesce(f.ended_at, f.completed_at, f.created_at)
                       else f.ended_at end < $3
               returning f.id
           )
           select (select id from page order by id desc limit 1) as last,
               (select count(*) from gone) as "deleted!""#,
        after.map_or(Uuid::nil(), FileId::uuid),
        id::first_id_at(before),
        before,
        most,
        now
    )
    .fetch_one(&shard.background)
    .await?;
    Ok(ExaminedFiles {
        last: row.last.map(Into::into),
        deleted: u64::try_from(row.deleted).unwrap_or_default(),
    })
}
