//! What waits to be called back, and to be scanned.

use domain::time::Timestamp;

use super::EXACT;
use crate::Error;
use crate::Shard;

/// Callbacks. Counts stop one above [`EXACT`].
#[derive(Debug, Clone)]
pub struct Deliveries {
    pub due: i64,
    pub oldest_due: Option<Timestamp>,
    /// To be tried again at a time to come.
    pub later: i64,
    pub under_way: i64,
    /// Hosts with most among those that have been due longest.
    pub hosts: Vec<(String, i64)>,
}

pub async fn deliveries(shard: &Shard, now: Timestamp) -> Result<Deliveries, Error> {
    let row = sqlx::query!(
        r#"select
               (select count(*) from (select from shard.delivery
                   where node is null and due_at <= $1 limit $2) few) as "due!",
               (select due_at from shard.delivery where node is null and due_at <= $1
                   order by due_at limit 1) as oldest_due,
               (select count(*) from (select from shard.delivery
                   where node is null and due_at > $1 limit $2) few) as "later!",
               (select count(*) from (select from shard.delivery
                   where node is not null limit $2) few) as "under_way!""#,
        now,
        EXACT + 1
    )
    .fetch_one(&shard.reads)
    .await?;
    let hosts = sqlx::query!(
        r#"select host as "host!", count(*) as "count!"
           from (select host from shard.delivery where node is null and due_at <= $1
                 order by due_at limit $2) longest
           group by host order by count(*) desc, host limit 5"#,
        now,
        EXACT
    )
    .fetch_all(&shard.reads)
    .await?;
    Ok(Deliveries {
        due: row.due,
        oldest_due: row.oldest_due,
        later: row.later,
        under_way: row.under_way,
        hosts: hosts.into_iter().map(|row| (row.host, row.count)).collect(),
    })
}

/// Files that wait for their verdict. Counts stop one above [`EXACT`].
#[derive(Debug, Clone, Copy)]
pub struct Scans {
    pub waiting: i64,
    pub oldest_due: Option<Timestamp>,
    pub claimed: i64,
}

pub async fn scans(shard: &Shard) -> Result<Scans, Error> {
    let row = sqlx::query_as!(
        Scans,
        r#"select
               (select count(*) from (select from shard.file
                   where status = 'validating' and node is null limit $1) few) as "waiting!",
               (select due_at from shard.file where status = 'validating' and node is null
                   order by due_at limit 1) as oldest_due,
               (select count(*) from shard.file where node is not null) as "claimed!""#,
        EXACT + 1
    );
    Ok(row.fetch_one(&shard.reads).await?)
}
