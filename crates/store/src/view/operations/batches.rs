//! Batches in flight, and those that need somebody.

use domain::id::BatchId;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

/// Batches of one state.
#[derive(Debug, Clone)]
pub struct Flight {
    pub state: String,
    pub count: i64,
    pub tokens: i64,
    pub oldest: Option<Timestamp>,
}

pub async fn flights(shard: &Shard) -> Result<Vec<Flight>, Error> {
    let rows = sqlx::query_as!(
        Flight,
        r#"with open as (
               select state, tokens, gathered_at from shard.batch
               where state in ('submitting', 'running')
               union all
               select state, tokens, gathered_at from shard.batch
               where state = 'gathered' and node is null
               union all
               select state, tokens, gathered_at from shard.batch
               where state = 'gathered' and node is not null
           )
           select state as "state!", count(*) as "count!",
               coalesce(sum(tokens), 0)::bigint as "tokens!", min(gathered_at) as oldest
           from open group by state order by min(gathered_at)"#
    );
    Ok(rows.fetch_all(&shard.reads).await?)
}

/// A batch that did not go as batches go.
#[derive(Debug, Clone)]
pub struct Odd {
    pub id: BatchId,
    pub provider: String,
    pub model: String,
    pub state: String,
    pub gathered_at: Timestamp,
    pub job: Option<String>,
    /// Why it was not sent when it was tried last.
    pub delay: Option<String>,
    /// How often its job was looked for without an answer.
    pub looks: i32,
    /// How often the provider said that it does not know the job.
    pub missed: i32,
    /// How often a node died with it.
    pub takeovers: i32,
}

/// The oldest of them.
pub async fn odd(shard: &Shard, limit: u32) -> Result<Vec<Odd>, Error> {
    let rows = sqlx::query!(
        r#"with open as (
               select * from shard.batch where state in ('submitting', 'running')
               union all
               select * from shard.batch where state = 'gathered' and node is null
           )
           select b.id as "id!", l.provider, l.model, b.state as "state!",
               b.gathered_at as "gathered_at!", b.job, b.delay, b.looks as "looks!",
               b.missed as "missed!", b.takeovers as "takeovers!"
           from open b join shard.lane l on l.id = b.lane
           where b.looks > 0 or b.missed > 0 or b.takeovers > 0 or b.delay is not null
           order by b.gathered_at limit $1"#,
        i64::from(limit)
    )
    .fetch_all(&shard.reads)
    .await?;
    let odd = rows.into_iter().map(|row| Odd {
        id: row.id.into(),
        provider: row.provider,
        model: row.model,
        state: row.state,
        gathered_at: row.gathered_at,
        job: row.job,
        delay: row.delay,
        looks: row.looks,
        missed: row.missed,
        takeovers: row.takeovers,
    });
    Ok(odd.collect())
}
