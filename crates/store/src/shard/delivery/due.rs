//! Finds destinations with something due, without reading over dead rows each time.

use domain::time::Timestamp;
use sqlx::types::Uuid;

use super::Destination;
use crate::Error;
use crate::Shard;

/// A destination with something due, and the earliest due time.
#[derive(Debug, Clone)]
pub struct DueDestination {
    pub destination: Destination,
    pub due_from: Timestamp,
}

/// One page of a scan over all destinations.
#[derive(Debug, Clone, Default)]
pub struct DueDestinationPage {
    pub due: Vec<DueDestination>,
    /// Where the next page starts; None at the end.
    pub last: Option<Destination>,
}

/// The next `limit` destinations after `after`: one index lookup each.
///
/// While an old transaction is open, each lookup also reads over the dead rows of its destination.
pub async fn list_due_destinations(
    shard: &Shard,
    after: Option<&Destination>,
    limit: usize,
    now: Timestamp,
) -> Result<DueDestinationPage, Error> {
    let organization = after.map_or(Uuid::nil(), |after| after.organization.uuid());
    let rows = sqlx::query!(
        r#"with recursive hop as (
               (select organization, host, due_at from shard.delivery
                where node is null and (organization, host) > ($1::uuid, $2::text)
                order by organization, host, due_at limit 1)
               union all
               select next.organization, next.host, next.due_at from hop cross join lateral (
                   select organization, host, due_at from shard.delivery
                   where node is null and (organization, host) > (hop.organization, hop.host)
                   order by organization, host, due_at limit 1
               ) next
           )
           select organization as "organization!", host as "host!", due_at as "due_at!"
           from hop limit $3"#,
        organization,
        after.map_or("", |after| after.host.as_str()),
        i64::try_from(limit).unwrap_or(i64::MAX)
    )
    .fetch_all(&shard.pool)
    .await?;
    let is_whole = rows.len() < limit;
    let found: Vec<DueDestination> = rows
        .into_iter()
        .map(|row| due_destination(row.organization, row.host, row.due_at))
        .collect();
    let last = found.last().map(|found| found.destination.clone());
    let due = found.into_iter().filter(|found| found.due_from <= now);
    Ok(DueDestinationPage {
        due: due.collect(),
        last: last.filter(|_| !is_whole),
    })
}

/// The destinations with deliveries that became due after `after` and by `now`.
pub async fn list_newly_due(
    shard: &Shard,
    after: Timestamp,
    now: Timestamp,
) -> Result<Vec<DueDestination>, Error> {
    let rows = sqlx::query!(
        r#"select organization, host, min(due_at) as "due_at!" from shard.delivery
           where node is null and due_at > $1 and due_at <= $2
           group by organization, host"#,
        after,
        now
    )
    .fetch_all(&shard.pool)
    .await?;
    let found = rows
        .into_iter()
        .map(|row| due_destination(row.organization, row.host, row.due_at));
    Ok(found.collect())
}

/// The live nodes and their epochs. When this changes, claims may have become free.
pub async fn list_live_nodes(shard: &Shard) -> Result<Vec<(Uuid, i32)>, Error> {
    let rows = sqlx::query!(
        "select node, epoch from shard.node where dead_at is null order by node, epoch"
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(rows.into_iter().map(|row| (row.node, row.epoch)).collect())
}

fn due_destination(organization: Uuid, host: String, due_from: Timestamp) -> DueDestination {
    DueDestination {
        destination: Destination {
            organization: organization.into(),
            host,
        },
        due_from,
    }
}
