//! A project at a glance: hours from the folded counts, and the newest of what went wrong.

use domain::id::{CargoId, ProjectId};
use domain::money::Money;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::number::unsigned;

/// What happened in an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hour {
    pub hour: Timestamp,
    pub loaded: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub delivered: u64,
    pub given_up: u64,
    pub charged: Money,
    pub saved: Money,
}

/// Oldest first; hours in which nothing happened are left out.
pub async fn hours(
    shard: &Shard,
    project: ProjectId,
    since: Timestamp,
) -> Result<Vec<Hour>, Error> {
    let rows = sqlx::query!(
        r#"select hour,
               coalesce(sum(count) filter (where event = 'loaded'), 0)::bigint as "loaded!",
               coalesce(sum(count) filter (where event = 'succeeded'), 0)::bigint as "succeeded!",
               coalesce(sum(count) filter (where event = 'failed'), 0)::bigint as "failed!",
               coalesce(sum(count) filter (where event = 'delivered'), 0)::bigint as "delivered!",
               coalesce(sum(count) filter (where event = 'callback_failed'), 0)::bigint
                   as "given_up!",
               sum(money)::bigint as "charged!", sum(saved)::bigint as "saved!"
           from shard.usage where project = $1 and hour >= $2 group by hour order by hour"#,
        project.uuid(),
        since
    )
    .fetch_all(&shard.pool)
    .await?;
    let hours = rows.into_iter().map(|row| Hour {
        hour: row.hour,
        loaded: unsigned(row.loaded),
        succeeded: unsigned(row.succeeded),
        failed: unsigned(row.failed),
        delivered: unsigned(row.delivered),
        given_up: unsigned(row.given_up),
        charged: Money(row.charged),
        saved: Money(row.saved),
    });
    Ok(hours.collect())
}

/// What was charged and saved since.
pub async fn spent(
    shard: &Shard,
    project: ProjectId,
    since: Timestamp,
) -> Result<(Money, Money), Error> {
    let row = sqlx::query!(
        r#"select coalesce(sum(money), 0)::bigint as "charged!",
               coalesce(sum(saved), 0)::bigint as "saved!"
           from shard.usage where project = $1 and hour >= $2 and event = 'succeeded'"#,
        project.uuid(),
        since
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok((Money(row.charged), Money(row.saved)))
}

/// Whether anything was ever loaded, and anything ever called back.
pub async fn begun(shard: &Shard, project: ProjectId) -> Result<(bool, bool), Error> {
    let row = sqlx::query!(
        r#"select exists (select from shard.cargo where project = $1) as "loaded!",
               exists (select from shard.usage where project = $1 and event = 'delivered')
                   as "delivered!""#,
        project.uuid()
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok((row.loaded, row.delivered))
}

/// What failed last: the cargo, and the group of its error.
pub async fn failures(
    shard: &Shard,
    project: ProjectId,
    since: CargoId,
    limit: u32,
) -> Result<Vec<(CargoId, String)>, Error> {
    let rows = sqlx::query!(
        "select cargo, label from shard.trouble
         where project = $1 and kind = 'failed' and cargo >= $2
         order by cargo desc limit $3",
        project.uuid(),
        since.uuid(),
        i64::from(limit)
    )
    .fetch_all(&shard.pool)
    .await?;
    let found = rows.into_iter();
    Ok(found.map(|row| (row.cargo.into(), row.label)).collect())
}
