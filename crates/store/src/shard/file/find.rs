//! Lookup of one file, or of a page of a project's files, newest first.

use domain::file::{FileKind, FileStatus};
use domain::id::{FileId, ProjectId};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::file::row::{FileRow, files, read_file, read_files};

/// Which files to list. None matches all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileFilter {
    pub status: Option<FileStatus>,
    pub kind: Option<FileKind>,
}

pub async fn find(
    shard: &Shard,
    project: ProjectId,
    file: FileId,
) -> Result<Option<FileRow>, Error> {
    let row = files!(
        "f as (select * from shard.file where id = $1 and project = $2)",
        file.uuid(),
        project.uuid()
    )
    .fetch_optional(&shard.pool)
    .await?;
    read_file(shard, row).await
}

/// At most `limit` files, all older than `before`. Each pair of status and kind is one index scan
/// that ends after `limit` rows, so the cost does not depend on the size of the project.
pub async fn list(
    shard: &Shard,
    project: ProjectId,
    filter: FileFilter,
    before: Option<FileId>,
    limit: u32,
) -> Result<Vec<FileRow>, Error> {
    if filter == FileFilter::default() {
        return list_all(shard, project, before, limit).await;
    }
    let statuses = FileStatus::ALL.iter().copied();
    let statuses = statuses.filter(|status| filter.status.is_none_or(|only| only == *status));
    let statuses: Vec<String> = statuses.map(|status| status.as_str().to_owned()).collect();
    let kinds = FileKind::ALL.iter().copied();
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
    read_files(shard, rows).await
}

/// The same for every status and kind: one index scan.
async fn list_all(
    shard: &Shard,
    project: ProjectId,
    before: Option<FileId>,
    limit: u32,
) -> Result<Vec<FileRow>, Error> {
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
    read_files(shard, rows).await
}
