//! The pause of a database that was restored to an earlier moment, or copied.

use domain::bucket_marker::BucketMarker;
use domain::id::BatchId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::bucket_marker;

/// Since when, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryPause {
    pub since: Timestamp,
    pub reason: String,
}

/// What a shard knows about its own recovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryState {
    /// Jobs at providers carry it.
    pub identity: Uuid,
    pub pause: Option<RecoveryPause>,
    /// Of the last pause: the last moment that the rows certainly know.
    pub known_until: Option<Timestamp>,
    pub accepted_at: Option<Timestamp>,
}

/// Whether loads may be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadPermission {
    Allowed,
    /// The database is paused.
    Paused,
    /// The server, timeline or database changed, and no worker has compared the rows with the
    /// bucket since.
    Unverified,
}

pub async fn read_state(shard: &Shard) -> Result<RecoveryState, Error> {
    let row = sqlx::query!(
        "select identity, paused_at, pause_reason, known_until, accepted_at from shard.recovery"
    )
    .fetch_one(&shard.pool)
    .await?;
    let pause = row.paused_at.zip(row.pause_reason);
    Ok(RecoveryState {
        identity: row.identity,
        pause: pause.map(|(since, reason)| RecoveryPause { since, reason }),
        known_until: row.known_until,
        accepted_at: row.accepted_at,
    })
}

/// Why the database is paused, if it is.
pub async fn find_pause(shard: &Shard) -> Result<Option<RecoveryPause>, Error> {
    Ok(read_state(shard).await?.pause)
}

/// Fails on a server that does not show its timeline, unless the database is paused.
pub async fn read_load_permission(shard: &Shard) -> Result<LoadPermission, Error> {
    if find_pause(shard).await?.is_some() {
        return Ok(LoadPermission::Paused);
    }
    let row = sqlx::query!(
        r#"select r.paused_at is not null as "is_paused!",
               coalesce(m.origin <> (select system_identifier from pg_control_system())::text || '/'
                   || left(pg_walfile_name(pg_current_wal_lsn()), 8) || '/'
                   || (select oid from pg_database where datname = current_database())::text,
                   false) as "is_elsewhere!"
           from shard.recovery r, shard.bucket_marker m"#
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(match (row.is_paused, row.is_elsewhere) {
        (true, _) => LoadPermission::Paused,
        (false, true) => LoadPermission::Unverified,
        (false, false) => LoadPermission::Allowed,
    })
}

/// Pauses the shard and holds the removal of objects, until an operator accepts the database.
/// Returns whether this call did it.
pub async fn pause(
    shard: &Shard,
    reason: &str,
    found: Option<BucketMarker>,
    known_until: Option<Timestamp>,
    now: Timestamp,
) -> Result<bool, Error> {
    let paused = sqlx::query_scalar!(
        r#"with held as (
               update shard.bucket_marker
               set held_at = coalesce(held_at, $1), held_reason = coalesce(held_reason, $2),
                   found_generation = greatest(found_generation, $3)
               returning written_at
           )
           update shard.recovery
           set paused_at = $1, pause_reason = $2, accepted_at = null,
               -- The rows' marker is written every few seconds.
               known_until = coalesce($4, (select written_at from held), $1)
           where paused_at is null
           returning true as "paused!""#,
        now,
        reason,
        found.map(|found| found.generation),
        known_until
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(paused.is_some())
}

/// An operator accepts the rows as they are.
///
/// The workers continue, and the next marker replaces the one that was found, so that another
/// database with the same bucket pauses. Objects are not removed until that is confirmed too.
/// Returns whether the shard was paused.
pub async fn accept(shard: &Shard, now: Timestamp) -> Result<bool, Error> {
    let current = match bucket_marker::read_state(shard).await {
        Ok(state) => Some(state.current.to_string()),
        Err(failure) if failure.is_unavailable() => return Err(failure),
        // The server does not show its timeline. Only an operator can have paused it.
        Err(_) => None,
    };
    let accepted = sqlx::query_scalar!(
        r#"with marker as (
               update shard.bucket_marker
               set origin = coalesce($2, origin), generation = greatest(generation, found_generation) + 1,
                   nonce = gen_random_uuid()
               where exists (select from shard.recovery where paused_at is not null)
           )
           update shard.recovery set paused_at = null, pause_reason = null, accepted_at = $1
           where paused_at is not null
           returning true as "accepted!""#,
        now,
        current
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(accepted.is_some())
}

/// A batch that a job at a provider names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledBatch {
    pub id: BatchId,
    /// None: it was not submitted, as far as the rows know.
    pub job: Option<String>,
    pub has_ended: bool,
    /// Its reconciliation has begun, or begins with its next claim.
    pub is_sent: bool,
}

/// The batches among these that have a row.
pub async fn find_batches(shard: &Shard, ids: &[BatchId]) -> Result<Vec<LabelledBatch>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        r#"select id, job, state = 'ended' as "has_ended!", sent_at is not null as "is_sent!"
           from shard.batch where id = any($1)"#,
        &ids
    )
    .fetch_all(&shard.pool)
    .await?;
    let batches = rows.into_iter().map(|row| LabelledBatch {
        id: BatchId::from_uuid(row.id),
        job: row.job,
        has_ended: row.has_ended,
        is_sent: row.is_sent,
    });
    Ok(batches.collect())
}

/// Records that a batch was sent, although its rows did not know. The next worker reconciles it
/// with its provider instead of sending it again. Returns whether this call did it.
pub async fn adopt_batch(shard: &Shard, batch: BatchId, sent_at: Timestamp) -> Result<bool, Error> {
    let adopted = sqlx::query!(
        // A digest without an encoder only closes the batch to cancelling.
        "update shard.batch set sent_at = $2, sending_until = $2, digest = coalesce(digest, '')
         where id = $1 and state in ('gathered', 'submitting') and sent_at is null",
        batch.uuid(),
        sent_at
    )
    .execute(&shard.pool)
    .await?;
    Ok(adopted.rows_affected() == 1)
}

/// Those of the ids whose cargo has no row. `ids` are of one day or a few.
pub async fn find_missing_cargo(shard: &Shard, ids: &[Uuid]) -> Result<Vec<Uuid>, Error> {
    let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
        return Ok(Vec::new());
    };
    let missing = sqlx::query_scalar!(
        r#"select item.id as "id!" from unnest($1::uuid[]) as item (id)
           where not exists (
               select from shard.cargo c where c.id = item.id and c.id >= $2 and c.id <= $3)"#,
        ids,
        *first,
        *last
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(missing)
}
