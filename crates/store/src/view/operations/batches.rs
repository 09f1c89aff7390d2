//! Open batches by state, and batches that are delayed.

use domain::id::BatchId;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

/// The open batches of one state.
#[derive(Debug, Clone)]
pub struct BatchStateSummary {
    pub state: String,
    pub count: i64,
    pub tokens: i64,
    pub oldest: Option<Timestamp>,
}

pub async fn summarize_batches(shard: &Shard) -> Result<Vec<BatchStateSummary>, Error> {
    let rows = sqlx::query_as!(
        BatchStateSummary,
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

/// An open batch with a takeover, a failed lookup, a missing job or a delayed submission.
#[derive(Debug, Clone)]
pub struct DelayedBatch {
    pub id: BatchId,
    pub provider: String,
    pub model: String,
    pub state: String,
    pub gathered_at: Timestamp,
    pub job: Option<String>,
    /// Why the last submission was delayed.
    pub delay: Option<String>,
    /// How often its job was searched for and not found.
    pub looks: i32,
    /// How often the provider reported the job as unknown.
    pub missed: i32,
    /// How often a node died while it had claimed the batch.
    pub takeovers: i32,
}

/// The oldest delayed batches.
pub async fn list_delayed_batches(shard: &Shard, limit: u32) -> Result<Vec<DelayedBatch>, Error> {
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
    let odd = rows.into_iter().map(|row| DelayedBatch {
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
