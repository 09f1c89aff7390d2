//! The state of providers on a shard: pauses, the submission slot, and enqueued tokens.

use std::collections::HashMap;

use domain::id::BatchId;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::number::signed;
use crate::shard::batch::check_fencing;
use crate::shard::node::Claim;

/// A provider that has lanes or state on this shard, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderStatus {
    pub name: String,
    pub paused_at: Option<Timestamp>,
    pub reason: Option<String>,
    pub retry_at: Option<Timestamp>,
    pub open_jobs: i64,
    pub enqueued_tokens: i64,
    /// The limit that the provider last enforced, where it is below the configured one.
    pub max_enqueued_tokens: Option<i64>,
    /// The batch that holds the submission slot, if jobs of this provider carry no label.
    pub submitting: Option<BatchId>,
}

pub async fn list(shard: &Shard) -> Result<Vec<ProviderStatus>, Error> {
    let rows = sqlx::query!(
        r#"with open as (
               select l.provider, count(*) as jobs, coalesce(sum(b.tokens), 0)::bigint as tokens
               from shard.batch b join shard.lane l on l.id = b.lane
               where b.state in ('submitting', 'running')
               group by l.provider
           ), names as (
               select provider as name from shard.lane union select name from shard.provider
           )
           select names.name as "name!", p.paused_at, p.reason, p.retry_at,
               coalesce(open.jobs, 0) as "jobs!", coalesce(open.tokens, 0) as "tokens!",
               p.most_enqueued_tokens, p.submitting
           from names
               left join shard.provider p on p.name = names.name
               left join open on open.provider = names.name
           order by names.name"#
    )
    .fetch_all(&shard.pool)
    .await?;
    let statuses = rows.into_iter().map(|row| ProviderStatus {
        name: row.name,
        paused_at: row.paused_at,
        reason: row.reason,
        retry_at: row.retry_at,
        open_jobs: row.jobs,
        enqueued_tokens: row.tokens,
        max_enqueued_tokens: row.most_enqueued_tokens,
        submitting: row.submitting.map(BatchId::from),
    });
    Ok(statuses.collect())
}

/// The pause of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderPauseRow {
    pub reason: String,
    /// None if an operator paused it: then only an operator resumes it.
    pub retry_at: Option<Timestamp>,
}

impl ProviderPauseRow {
    /// False once the time of an automatic pause has passed: the next call tries the provider.
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.retry_at.is_none_or(|at| at > now)
    }
}

/// The paused providers by name.
pub async fn list_paused(shard: &Shard) -> Result<HashMap<String, ProviderPauseRow>, Error> {
    let rows = sqlx::query!(
        r#"select name, reason as "reason!", retry_at
           from shard.provider where paused_at is not null"#
    )
    .fetch_all(&shard.pool)
    .await?;
    let paused = rows.into_iter().map(|row| {
        let (reason, retry_at) = (row.reason, row.retry_at);
        (row.name, ProviderPauseRow { reason, retry_at })
    });
    Ok(paused.collect())
}

/// Pauses a provider until it is resumed, or tried again at `retry_at`. A pause without `retry_at`
/// is an operator's, and no automatic pause replaces it.
pub async fn pause(
    shard: &Shard,
    name: &str,
    reason: &str,
    retry_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.provider (name, paused_at, reason, retry_at) values ($1, $4, $2, $3)
         on conflict (name) do update set reason = $2, retry_at = $3,
             paused_at = coalesce(provider.paused_at, $4)
         where $3::timestamptz is null
             or provider.paused_at is null or provider.retry_at is not null",
        name,
        reason,
        retry_at,
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// Makes everything that waits for the provider due now: batches that were not sent, and cargo in
/// backoff.
pub async fn wake_waiting(shard: &Shard, name: &str, now: Timestamp) -> Result<(), Error> {
    sqlx::query!(
        "with lanes as (
             select id from shard.lane where provider = $1
         ), awake as (
             update shard.batch set next_poll_at = $2
             where lane in (select id from lanes) and state = 'submitting' and sent_at is null
                 and node is null and next_poll_at > $2
         )
         update shard.waiting set due_at = null
         where lane in (select id from lanes) and due_at > $2",
        name,
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// The provider works again: ends an automatic pause.
pub async fn end_automatic_pause(shard: &Shard, name: &str) -> Result<(), Error> {
    sqlx::query!(
        "update shard.provider set paused_at = null, reason = null, retry_at = null
         where name = $1 and paused_at is not null and retry_at is not null",
        name
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// Returns whether the provider was paused.
pub async fn resume(shard: &Shard, name: &str) -> Result<bool, Error> {
    let resumed = sqlx::query!(
        "update shard.provider set paused_at = null, reason = null, retry_at = null
         where name = $1 and paused_at is not null",
        name
    )
    .execute(&shard.pool)
    .await?;
    Ok(resumed.rows_affected() > 0)
}

/// Acquires the single submission slot of a provider whose jobs carry no label, or keeps it.
///
/// The row is locked before the holder's batch is read: a statement that began earlier would not
/// see a batch that was gathered just now.
pub async fn acquire_submission_slot(
    shard: &Shard,
    name: &str,
    batch: BatchId,
) -> Result<bool, Error> {
    let mut tx = shard.begin().await?;
    let holder = sqlx::query_scalar!(
        "insert into shard.provider (name) values ($1)
         on conflict (name) do update set name = $1 returning submitting",
        name
    )
    .fetch_one(&mut *tx)
    .await?;
    if let Some(holder) = holder.filter(|holder| *holder != batch.uuid()) {
        let is_open = sqlx::query_scalar!(
            r#"select exists (select from shard.batch
                   where id = $1 and state in ('gathered', 'submitting')) as "is_open!""#,
            holder
        );
        // Otherwise the holder's submission has ended, and its worker could not release the slot.
        if is_open.fetch_one(&mut *tx).await? {
            return Ok(false);
        }
    }
    sqlx::query!(
        "update shard.provider set submitting = $2 where name = $1",
        name,
        batch.uuid()
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(true)
}

pub async fn release_submission_slot(
    shard: &Shard,
    name: &str,
    batch: BatchId,
) -> Result<(), Error> {
    sqlx::query!(
        "update shard.provider set submitting = null where name = $1 and submitting = $2",
        name,
        batch.uuid()
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// The tokens of jobs that the provider has or may have; and the limit that it last enforced, if
/// that was below the configured one.
pub async fn count_enqueued_tokens(
    shard: &Shard,
    name: &str,
    lowered_since: Timestamp,
) -> Result<(u64, Option<u64>), Error> {
    let row = sqlx::query!(
        r#"select (select coalesce(sum(b.tokens), 0)::bigint
                   from shard.batch b join shard.lane l on l.id = b.lane
                   where l.provider = $1 and b.state in ('submitting', 'running')
                       and b.enqueued_at is not null) as "tokens!",
                  (select most_enqueued_tokens from shard.provider
                   where name = $1 and lowered_at > $2) as most"#,
        name,
        lowered_since
    )
    .fetch_one(&shard.pool)
    .await?;
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    Ok((count(row.tokens), row.most.map(count)))
}

/// Counts a batch as enqueued at the provider, if its tokens are within the limit or nothing else
/// is enqueued. The lock on the provider's row keeps two batches from using the same room.
pub async fn enqueue(
    shard: &Shard,
    name: &str,
    batch: BatchId,
    claim: Claim,
    most: u64,
    now: Timestamp,
) -> Result<bool, Error> {
    let mut tx = shard.begin().await?;
    sqlx::query!(
        "insert into shard.provider (name) values ($1) on conflict (name) do update set name = $1",
        name
    )
    .execute(&mut *tx)
    .await?;
    let has_room = sqlx::query_scalar!(
        r#"select coalesce(sum(b.tokens) = 0
                   or sum(b.tokens) + (select tokens from shard.batch where id = $2) <= $3::bigint, true)
               as "has_room!"
           from shard.batch b join shard.lane l on l.id = b.lane
           where l.provider = $1 and b.state in ('submitting', 'running')
               and b.enqueued_at is not null and b.id <> $2"#,
        name,
        batch.uuid(),
        signed(most)
    )
    .fetch_one(&mut *tx)
    .await?;
    if !has_room {
        return Ok(false);
    }
    let changed = sqlx::query!(
        "update shard.batch set enqueued_at = $4
         where id = $1 and node = $2 and epoch = $3 and state = 'submitting'",
        batch.uuid(),
        claim.node,
        claim.epoch,
        now
    )
    .execute(&mut *tx)
    .await?;
    check_fencing(changed.rows_affected())?;
    tx.commit().await?;
    Ok(true)
}

/// Records that the provider enforces a lower limit than the configured one.
pub async fn lower_enqueue_limit(
    shard: &Shard,
    name: &str,
    most: u64,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.provider (name, most_enqueued_tokens, lowered_at) values ($1, $2, $3)
         on conflict (name) do update set most_enqueued_tokens = $2, lowered_at = $3",
        name,
        signed(most),
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// Those of these jobs that belong to batches of this shard.
pub async fn find_known_jobs(shard: &Shard, jobs: &[String]) -> Result<Vec<String>, Error> {
    let owned = sqlx::query_scalar!(
        r#"select job as "job!" from shard.batch where job = any($1)"#,
        jobs
    );
    Ok(owned.fetch_all(&shard.pool).await?)
}
