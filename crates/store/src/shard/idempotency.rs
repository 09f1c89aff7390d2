//! The idempotency keys of loads.

use std::ops::Range;

use domain::id::{CargoId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;

/// A load that was stored with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    pub project: ProjectId,
    pub key: String,
    pub digest: Vec<u8>,
    pub cargo: CargoId,
}

/// The loads that were stored with these keys. Read under the accounts' locks, so that the answer
/// stays valid until the commit.
pub async fn find_idempotency_records(
    tx: &mut Transaction,
    projects: &[Uuid],
    keys: &[String],
    since: Timestamp,
) -> Result<Vec<IdempotencyRecord>, Error> {
    let rows = sqlx::query!(
        r#"select i.project, i.key, i.digest, i.cargo
           from unnest($1::uuid[], $2::text[]) as requested (project, key)
           join shard.idempotency i on i.project = requested.project and i.key = requested.key
           where i.created_at > $3"#,
        projects,
        keys,
        since
    )
    .fetch_all(&mut **tx)
    .await?;
    let earlier = rows.into_iter().map(|row| IdempotencyRecord {
        project: row.project.into(),
        key: row.key,
        digest: row.digest,
        cargo: row.cargo.into(),
    });
    Ok(earlier.collect())
}

/// The load that was stored with a project's key, without a lock.
pub async fn find_idempotency_record(
    shard: &Shard,
    project: ProjectId,
    key: &str,
    since: Timestamp,
) -> Result<Option<IdempotencyRecord>, Error> {
    let row = sqlx::query!(
        "select digest, cargo from shard.idempotency
         where project = $1 and key = $2 and created_at > $3",
        project.uuid(),
        key,
        since
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(row.map(|row| IdempotencyRecord {
        project,
        key: key.to_owned(),
        digest: row.digest,
        cargo: row.cargo.into(),
    }))
}

/// The keys of a group of loads, by column.
#[derive(Debug, Default)]
pub(crate) struct IdempotencyColumns {
    project: Vec<Uuid>,
    key: Vec<String>,
    digest: Vec<Vec<u8>>,
    cargo: Vec<Uuid>,
}

impl IdempotencyColumns {
    pub(crate) fn push(&mut self, record: IdempotencyRecord) {
        self.project.push(record.project.uuid());
        self.key.push(record.key);
        self.digest.push(record.digest);
        self.cargo.push(record.cargo.uuid());
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.key.is_empty()
    }
}

/// Stores the keys of a group of loads.
pub(crate) async fn insert_idempotency_keys(
    tx: &mut Transaction,
    keyed: &IdempotencyColumns,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        r#"insert into shard.idempotency (project, key, digest, cargo, created_at)
           select project, key, digest, cargo, $5
           from unnest($1::uuid[], $2::text[], $3::bytea[], $4::uuid[])
               as keyed (project, key, digest, cargo)
           -- Only a key older than its day can still be here: the new load replaces it.
           on conflict (project, key) do update
               set digest = excluded.digest, cargo = excluded.cargo, created_at = excluded.created_at"#,
        &keyed.project,
        &keyed.key,
        &keyed.digest,
        &keyed.cargo,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Deletes at most `most` idempotency keys that were stored in this time.
/// Returns the time of the last one. The next call starts there and skips the dead rows before it.
pub async fn delete_idempotency_keys(
    shard: &Shard,
    stored: Range<Timestamp>,
    most: i64,
) -> Result<Option<Timestamp>, Error> {
    let last = sqlx::query_scalar!(
        "with gone as (
             delete from shard.idempotency where (project, key) in (
                 select project, key from shard.idempotency
                 where created_at >= $1 and created_at < $2
                 order by created_at limit $3 for update skip locked
             )
             returning created_at
         )
         select max(created_at) from gone",
        stored.start,
        stored.end,
        most
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(last)
}
