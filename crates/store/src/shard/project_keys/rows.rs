//! The rows of data keys, and the switch of a shard.

use std::collections::HashMap;

use domain::id::ProjectId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::number::signed;

/// AES-256-GCM with random nonces is safe for 2^32 values; a key is replaced long before.
const MAX_USES: i64 = 1 << 30;

/// A data key as it is stored.
#[derive(Debug, Clone)]
pub(super) struct DataKeyRow {
    pub(super) project: ProjectId,
    pub(super) number: u32,
    pub(super) master_key: String,
    /// None: the project was erased.
    pub(super) wrapped: Option<Vec<u8>>,
}

struct Row {
    project: Uuid,
    number: i32,
    master_key: String,
    wrapped: Option<Vec<u8>>,
}

impl From<Row> for DataKeyRow {
    fn from(row: Row) -> Self {
        Self {
            project: row.project.into(),
            number: u32::try_from(row.number).unwrap_or_default(),
            master_key: row.master_key,
            wrapped: row.wrapped,
        }
    }
}

pub(super) async fn is_enabled(shard: &Shard) -> Result<bool, Error> {
    let is_enabled = sqlx::query_scalar!(
        r#"select exists (
               select from shard.encryption where enabled_at is not null
           ) as "is_enabled!""#
    );
    Ok(is_enabled.fetch_one(&shard.pool).await?)
}

/// The newest key of each project that has one.
pub(super) async fn list_newest(
    shard: &Shard,
    projects: &[ProjectId],
) -> Result<HashMap<ProjectId, DataKeyRow>, Error> {
    let projects: Vec<Uuid> = projects.iter().map(|project| project.uuid()).collect();
    let rows = sqlx::query_as!(
        Row,
        "select distinct on (project) project, number, master_key, wrapped
         from shard.data_key where project = any($1)
         order by project, number desc",
        &projects
    )
    .fetch_all(&shard.pool)
    .await?;
    let rows = rows.into_iter().map(DataKeyRow::from);
    Ok(rows.map(|row| (row.project, row)).collect())
}

/// Those of these keys that were not destroyed.
pub(super) async fn list(
    shard: &Shard,
    keys: &[(ProjectId, u32)],
) -> Result<Vec<DataKeyRow>, Error> {
    let projects: Vec<Uuid> = keys.iter().map(|(project, _)| project.uuid()).collect();
    let numbers: Vec<i32> = keys
        .iter()
        .map(|(_, number)| signed_number(*number))
        .collect();
    let rows = sqlx::query_as!(
        Row,
        "select k.project, k.number, k.master_key, k.wrapped
         from unnest($1::uuid[], $2::int[]) as wanted (project, number)
         join shard.data_key k on k.project = wanted.project and k.number = wanted.number
         where k.wrapped is not null",
        &projects,
        &numbers
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(rows.into_iter().map(DataKeyRow::from).collect())
}

/// Reserves uses of a key. False if it has too few left, or was destroyed.
pub(super) async fn reserve_uses(
    shard: &Shard,
    project: ProjectId,
    number: u32,
    uses: u64,
) -> Result<bool, Error> {
    let reserved = sqlx::query!(
        "update shard.data_key set uses = uses + $3
         where project = $1 and number = $2 and wrapped is not null and uses + $3 <= $4",
        project.uuid(),
        signed_number(number),
        signed(uses),
        MAX_USES
    )
    .execute(&shard.pool)
    .await?;
    Ok(reserved.rows_affected() == 1)
}

/// Locks the keys of a project until the commit: no key is added to a project that is being erased.
pub(super) async fn lock_project(tx: &mut Transaction, project: ProjectId) -> Result<(), Error> {
    let lock = format!("longshore.data_key {project}");
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended($1, 0)) as locked",
        lock
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(())
}

/// Stores a new key, unless the project has one of this number or was erased. Returns the newest
/// key, which may be another.
pub(super) async fn insert(
    shard: &Shard,
    new: DataKeyRow,
    now: Timestamp,
) -> Result<DataKeyRow, Error> {
    let mut tx = shard.begin().await?;
    lock_project(&mut tx, new.project).await?;
    let inserted = sqlx::query!(
        "insert into shard.data_key (project, number, master_key, wrapped, created_at)
         select $1::uuid, $2::int, $3::text, $4::bytea, $5::timestamptz
         where not exists (
             select from shard.data_key
             where project = $1 and (number >= $2 or wrapped is null)
         )",
        new.project.uuid(),
        signed_number(new.number),
        new.master_key,
        new.wrapped.as_deref(),
        now
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    if inserted.rows_affected() == 1 {
        return Ok(new);
    }
    let newest = list_newest(shard, &[new.project])
        .await?
        .remove(&new.project);
    newest.ok_or(Error::Fenced)
}

pub(super) fn signed_number(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
