//! Looking files up: one, or a page of a project's, newest first.

use domain::file::{Kind, Status};
use domain::id::{FileId, ProjectId};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::file::row::{File, files};

/// Which files are asked for; nothing is all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter {
    pub status: Option<Status>,
    pub kind: Option<Kind>,
}

pub async fn find(shard: &Shard, project: ProjectId, file: FileId) -> Result<Option<File>, Error> {
    let row = files!(
        "f as (select * from shard.file where id = $1 and project = $2)",
        file.uuid(),
        project.uuid()
    )
    .fetch_optional(&shard.pool)
    .await?;
    row.map(File::try_from).transpose()
}

/// At most `limit` files, all older than `before`. Each status and kind is a walk of the
/// index that ends after as many rows, so that no project is too large for a page.
pub async fn list(
    shard: &Shard,
    project: ProjectId,
    filter: Filter,
    before: Option<FileId>,
    limit: u32,
) -> Result<Vec<File>, Error> {
    if filter == Filter::default() {
        return all(shard, project, before, limit).await;
    }
    let statuses = Status::ALL.iter().copied();
    let statuses = statuses.filter(|status| filter.status.is_none_or(|only| only == *status));
    let statuses: Vec<String> = statuses.map(|status| status.as_str().to_owned()).collect();
    let kinds = Kind::ALL.iter().copied();
    let kinds = kinds.filter(|kind| filter.kind.is_none_or(|only| only == *kind));
    let kinds: Vec<String> = kinds.map(|kind| kind.as_str().to_owned()).collect();
    let rows = files!(
        "f as (
             select walked.* from unnest($2::text[]) as one (status)
             cross join unnest($3::text[]) as other (kind)
             cross join lateral (
                 select * from shard.file
                 where project = $1 and status = one.status and kind = other.kind and id < $4
                 order by id desc limit $5
             ) walked
             order by walked.id desc limit $5
         )",
        project.uuid(),
        &statuses,
        &kinds,
        before.map_or(Uuid::max(), FileId::uuid),
        i64::from(limit)
    )
    .fetch_all(&shard.pool)
    .await?;
    rows.into_iter().map(File::try_from).collect()
}

/// The same, of every status and kind: one walk.
async fn all(
    shard: &Shard,
    project: ProjectId,
    before: Option<FileId>,
    limit: u32,
) -> Result<Vec<File>, Error> {
    let rows = files!(
        "f as (
             select * from shard.file where project = $1 and id < $2 order by id desc limit $3
         )",
        project.uuid(),
        before.map_or(Uuid::max(), FileId::uuid),
        i64::from(limit)
    )
    .fetch_all(&shard.pool)
    .await?;
    rows.into_iter().map(File::try_from).collect()
}
