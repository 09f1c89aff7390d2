//! The backlogs of callbacks and of scans.

use domain::time::Timestamp;

use super::MAX_EXACT_COUNT;
use crate::Error;
use crate::Shard;

/// Callbacks in the queue. Counts stop one above [`MAX_EXACT_COUNT`].
#[derive(Debug, Clone)]
pub struct DeliveryBacklog {
    pub due: i64,
    pub oldest_due: Option<Timestamp>,
    /// Due at a later time.
    pub scheduled: i64,
    pub under_way: i64,
    /// The hosts with the most callbacks, among those that have been due longest.
    pub hosts: Vec<(String, i64)>,
}

pub async fn read_delivery_backlog(
    shard: &Shard,
    now: Timestamp,
) -> Result<DeliveryBacklog, Error> {
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
        MAX_EXACT_COUNT + 1
    )
    .fetch_one(&shard.reads)
    .await?;
    let hosts = sqlx::query!(
        r#"select host as "host!", count(*) as "count!"
           from (select host from shard.delivery where node is null and due_at <= $1
                 order by due_at limit $2) longest
           group by host order by count(*) desc, host limit 5"#,
        now,
        MAX_EXACT_COUNT
    )
    .fetch_all(&shard.reads)
    .await?;
    Ok(DeliveryBacklog {
        due: row.due,
        oldest_due: row.oldest_due,
        scheduled: row.later,
        under_way: row.under_way,
        hosts: hosts.into_iter().map(|row| (row.host, row.count)).collect(),
    })
}

/// Files that wait for their verdict. Counts stop one above [`MAX_EXACT_COUNT`].
#[derive(Debug, Clone, Copy)]
pub struct ScanBacklog {
    pub waiting: i64,
    pub oldest_due: Option<Timestamp>,
    pub claimed: i64,
}

pub async fn read_scan_backlog(shard: &Shard) -> Result<ScanBacklog, Error> {
    let row = sqlx::query_as!(
        ScanBacklog,
        r#"select
               (select count(*) from (select from shard.file
                   where status = 'validating' and node is null limit $1) few) as "waiting!",
               (select due_at from shard.file where status = 'validating' and node is null
                   order by due_at limit 1) as oldest_due,
               (select count(*) from shard.file where node is not null) as "claimed!""#,
        MAX_EXACT_COUNT + 1
    );
    Ok(row.fetch_one(&shard.reads).await?)
}
