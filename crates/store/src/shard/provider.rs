//! How providers stand on a shard: paused, whose turn it is, and how much waits there.

use std::collections::HashMap;

use domain::id::BatchId;
use domain::time::Timestamp;
use sqlx::PgExecutor;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::number::signed;

/// A provider that work went to, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub name: String,
    pub paused_at: Option<Timestamp>,
    pub reason: Option<String>,
    pub retry_at: Option<Timestamp>,
    pub open_jobs: i64,
    pub enqueued_tokens: i64,
}

pub async fn list(shard: &Shard) -> Result<Vec<Standing>, Error> {
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
               coalesce(open.jobs, 0) as "jobs!", coalesce(open.tokens, 0) as "tokens!"
           from names
               left join shard.provider p on p.name = names.name
               left join open on open.provider = names.name
           order by names.name"#
    )
    .fetch_all(&shard.pool)
    .await?;
    let standings = rows.into_iter().map(|row| Standing {
        name: row.name,
        paused_at: row.paused_at,
        reason: row.reason,
        retry_at: row.retry_at,
        open_jobs: row.jobs,
        enqueued_tokens: row.tokens,
    });
    Ok(standings.collect())
}

/// A provider that takes nothing for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paused {
    pub reason: String,
    pub retry_at: Timestamp,
}

/// Who is paused.
pub async fn paused(shard: &Shard) -> Result<HashMap<String, Paused>, Error> {
    let rows = sqlx::query!(
        r#"select name, reason as "reason!", coalesce(retry_at, paused_at) as "retry_at!"
           from shard.provider where paused_at is not null"#
    )
    .fetch_all(&shard.pool)
    .await?;
    let paused = rows.into_iter().map(|row| {
        let (reason, retry_at) = (row.reason, row.retry_at);
        (row.name, Paused { reason, retry_at })
    });
    Ok(paused.collect())
}

/// Sends nothing there until it is resumed, or tried again at `retry_at`.
pub async fn pause(
    shard: &Shard,
    name: &str,
    reason: &str,
    retry_at: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.provider (name, paused_at, reason, retry_at) values ($1, $4, $2, $3)
         on conflict (name) do update set reason = $2, retry_at = $3,
             paused_at = coalesce(provider.paused_at, $4)",
        name,
        reason,
        retry_at,
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// Whether it was paused.
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

/// Takes the one place of a provider whose jobs carry no label, or keeps it.
pub async fn take_turn(shard: &Shard, name: &str, batch: BatchId) -> Result<bool, Error> {
    let taken = sqlx::query!(
        "insert into shard.provider (name, submitting) values ($1, $2)
         on conflict (name) do update set submitting = $2
         where provider.submitting is null or provider.submitting = $2
             -- Whoever had it has been decided on, and could not say so.
             or not exists (select from shard.batch
                 where id = provider.submitting and state in ('gathered', 'submitting'))",
        name,
        batch.uuid()
    )
    .execute(&shard.pool)
    .await?;
    Ok(taken.rows_affected() > 0)
}

pub async fn end_turn(shard: &Shard, name: &str, batch: BatchId) -> Result<(), Error> {
    sqlx::query!(
        "update shard.provider set submitting = null where name = $1 and submitting = $2",
        name,
        batch.uuid()
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// The tokens that wait at a provider in jobs that it has, may have, or is about to be given,
/// `besides` one; and the most that it turned out to take, if that was less than we were told.
pub async fn enqueued(
    executor: impl PgExecutor<'_>,
    name: &str,
    besides: Option<BatchId>,
    lowered_since: Timestamp,
) -> Result<(u64, Option<u64>), Error> {
    let row = sqlx::query!(
        r#"select (select coalesce(sum(b.tokens), 0)::bigint
                   from shard.batch b join shard.lane l on l.id = b.lane
                   where l.provider = $1 and b.id is distinct from $3
                       and (b.state = 'running' or (b.state = 'submitting' and (
                           b.sent_at is not null
                           -- Packed and in somebody's hands: it has its room.
                           or (b.node is not null and b.encoder is not null))))) as "tokens!",
                  (select most_enqueued_tokens from shard.provider
                   where name = $1 and lowered_at > $2) as most"#,
        name,
        lowered_since,
        besides.map(BatchId::uuid)
    )
    .fetch_one(executor)
    .await?;
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    Ok((count(row.tokens), row.most.map(count)))
}

/// Whoever takes room at a provider does so alone, until the transaction ends.
pub(crate) async fn alone(tx: &mut Transaction<'_>, name: &str) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.provider (name) values ($1)
         on conflict (name) do update set name = excluded.name",
        name
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// It takes less than we were told, for a while.
pub async fn lower(shard: &Shard, name: &str, most: u64, now: Timestamp) -> Result<(), Error> {
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

/// Jobs that are ours already, among some.
pub async fn owned(shard: &Shard, jobs: &[String]) -> Result<Vec<String>, Error> {
    let owned = sqlx::query_scalar!(
        r#"select job as "job!" from shard.batch where job = any($1)"#,
        jobs
    );
    Ok(owned.fetch_all(&shard.pool).await?)
}
