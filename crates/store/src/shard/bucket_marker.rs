//! The marker of this database in the bucket, and whether objects may be removed.

use domain::bucket_marker::{BucketMarker, DatabaseOrigin, RemovalHold, RemovalHoldReason};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

/// The marker's row, and the server and database that answer now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketMarkerState {
    pub current: DatabaseOrigin,
    /// The server and database that wrote the marker last. None: no marker was written yet.
    pub origin: Option<DatabaseOrigin>,
    pub marker: BucketMarker,
    pub written_at: Option<Timestamp>,
    pub held: Option<RemovalHold>,
}

pub async fn read_state(shard: &Shard) -> Result<BucketMarkerState, Error> {
    let row = sqlx::query!(
        r#"select
               -- The timeline of the checkpoint would lag behind a promotion.
               (select system_identifier from pg_control_system())::text || '/'
                   || left(pg_walfile_name(pg_current_wal_lsn()), 8) || '/'
                   || (select oid from pg_database where datname = current_database())::text
                   as "current!",
               origin, generation, nonce, written_at, held_at, held_reason
           from shard.bucket_marker"#
    )
    .fetch_one(&shard.pool)
    .await?;
    let origin = |text: &str| {
        DatabaseOrigin::parse(text).ok_or(Error::Corrupt {
            table: "bucket_marker",
            column: "origin",
        })
    };
    Ok(BucketMarkerState {
        current: origin(&row.current)?,
        origin: row.origin.as_deref().map(origin).transpose()?,
        marker: BucketMarker {
            generation: row.generation,
            nonce: row.nonce.unwrap_or_default(),
        },
        written_at: row.written_at,
        held: row
            .held_at
            .zip(row.held_reason)
            .map(|(since, reason)| RemovalHold { since, reason }),
    })
}

/// Why removal is on hold, if it is.
pub async fn find_hold(shard: &Shard) -> Result<Option<RemovalHold>, Error> {
    let row = sqlx::query!("select held_at, held_reason from shard.bucket_marker")
        .fetch_one(&shard.pool)
        .await?;
    let held = row.held_at.zip(row.held_reason);
    Ok(held.map(|(since, reason)| RemovalHold { since, reason }))
}

/// Begins the next generation, unless one was begun after `before` or the database is paused.
///
/// None also if the rows or their server are no longer the ones that were compared. The caller
/// writes the marker to the bucket afterwards, so the bucket is never ahead of the rows.
pub async fn begin_generation(
    shard: &Shard,
    compared: &BucketMarkerState,
    before: Timestamp,
    now: Timestamp,
) -> Result<Option<BucketMarker>, Error> {
    let row = sqlx::query!(
        r#"update shard.bucket_marker
           -- After a failover the bucket may have a marker that these rows never had.
           set generation = greatest(generation, found_generation) + 1, nonce = gen_random_uuid(),
               written_at = $1, origin = $2
           where (written_at is null or written_at <= $3
                   -- The server's clock was set back.
                   or written_at > $1::timestamptz + ($1::timestamptz - $3::timestamptz))
               -- A process that was frozen meanwhile must not pass the bucket with restored rows.
               and generation = $4
               and $2 = (select system_identifier from pg_control_system())::text || '/'
                   || left(pg_walfile_name(pg_current_wal_lsn()), 8) || '/'
                   || (select oid from pg_database where datname = current_database())::text
               and not exists (select from shard.recovery where paused_at is not null)
           returning generation, nonce as "nonce!""#,
        now,
        compared.current.to_string(),
        before,
        compared.marker.generation
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(row.map(|row| BucketMarker {
        generation: row.generation,
        nonce: row.nonce,
    }))
}

/// Puts removal on hold until an operator confirms. Returns whether this call did it.
pub async fn hold_removal(
    shard: &Shard,
    reason: &str,
    found: Option<BucketMarker>,
    now: Timestamp,
) -> Result<bool, Error> {
    let held = sqlx::query!(
        "update shard.bucket_marker set held_at = $1, held_reason = $2, found_generation = $3
         where held_at is null",
        now,
        reason,
        found.map(|found| found.generation)
    )
    .execute(&shard.pool)
    .await?;
    Ok(held.rows_affected() == 1)
}

/// Records that a standby was promoted, and holds removal: its rows may lack the last objects.
///
/// The next generation is higher than the marker that the dead primary wrote last, and than the one
/// that a worker may still be writing for it. Returns whether this call did it.
pub async fn record_failover(
    shard: &Shard,
    before: &DatabaseOrigin,
    current: &DatabaseOrigin,
    found: Option<BucketMarker>,
    now: Timestamp,
) -> Result<bool, Error> {
    let recorded = sqlx::query!(
        "update shard.bucket_marker
         set origin = $2, held_at = coalesce(held_at, $3), held_reason = coalesce(held_reason, $4),
             generation = greatest(generation, $5) + 2, nonce = gen_random_uuid()
         where origin = $1",
        before.to_string(),
        current.to_string(),
        now,
        RemovalHoldReason::NewTimeline.to_string(),
        found.map(|found| found.generation)
    )
    .execute(&shard.pool)
    .await?;
    Ok(recorded.rows_affected() == 1)
}

/// Records the newest marker that was found while removal is on hold. The generation after
/// confirmation is higher.
pub async fn record_found(shard: &Shard, found: Option<BucketMarker>) -> Result<(), Error> {
    let Some(found) = found else { return Ok(()) };
    sqlx::query!(
        "update shard.bucket_marker set found_generation = $1
         where held_at is not null and (found_generation is null or found_generation < $1)",
        found.generation
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// An operator confirms that these rows are the valid ones.
///
/// Removal continues, and the next marker replaces the one that was found. Returns whether removal
/// was on hold. A paused database has to be accepted before.
pub async fn confirm_removal(shard: &Shard) -> Result<bool, Error> {
    let current = read_state(shard).await?.current;
    let confirmed = sqlx::query!(
        "update shard.bucket_marker
         set held_at = null, held_reason = null, found_generation = null, origin = $1,
             generation = greatest(generation, found_generation) + 1, nonce = gen_random_uuid()
         where held_at is not null
             and not exists (select from shard.recovery where paused_at is not null)",
        current.to_string()
    )
    .execute(&shard.pool)
    .await?;
    Ok(confirmed.rows_affected() == 1)
}
