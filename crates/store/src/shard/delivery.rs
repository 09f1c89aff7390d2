//! Callbacks that are due: who waits, whose turn it is, and what to send.

use domain::id::{CargoId, OrganizationId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::body;
use crate::shard::node::Claim;
use crate::shard::waiting::bounds;

/// Whose callbacks, and where to: what shares are counted by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Destination {
    pub organization: OrganizationId,
    pub host: String,
}

/// A delivery in this node's hands.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub cargo: CargoId,
    pub destination: Destination,
    pub url: String,
    pub number: u32,
    pub takeovers: i32,
    /// Somebody asked for it again: one attempt, whatever becomes of it.
    pub is_resend: bool,
    pub success: bool,
    /// The stored outcome, unpacked.
    pub outcome: Vec<u8>,
}

/// Everyone with something due: one step of the index per destination.
pub async fn destinations(shard: &Shard, now: Timestamp) -> Result<Vec<Destination>, Error> {
    let rows = sqlx::query!(
        r#"with recursive hop as (
               (select organization, host, due_at from shard.delivery where node is null
                order by organization, host, due_at limit 1)
               union all
               select next.organization, next.host, next.due_at from hop cross join lateral (
                   select organization, host, due_at from shard.delivery
                   where node is null and (organization, host) > (hop.organization, hop.host)
                   order by organization, host, due_at limit 1
               ) next
           )
           select organization as "organization!", host as "host!" from hop where due_at <= $1"#,
        now
    )
    .fetch_all(&shard.pool)
    .await?;
    let found = rows.into_iter().map(|row| Destination {
        organization: row.organization.into(),
        host: row.host,
    });
    Ok(found.collect())
}

/// Who became due after `after` and by `now`.
pub async fn newly_due(
    shard: &Shard,
    after: Timestamp,
    now: Timestamp,
) -> Result<Vec<Destination>, Error> {
    let rows = sqlx::query!(
        "select distinct organization, host from shard.delivery
         where node is null and due_at > $1 and due_at <= $2",
        after,
        now
    )
    .fetch_all(&shard.pool)
    .await?;
    let found = rows.into_iter().map(|row| Destination {
        organization: row.organization.into(),
        host: row.host,
    });
    Ok(found.collect())
}

/// Takes what is due of some destinations, at most so many of each.
pub async fn claim(
    shard: &Shard,
    claim: Claim,
    turns: &[(Destination, usize)],
    now: Timestamp,
) -> Result<Vec<Claimed>, Error> {
    let organizations: Vec<Uuid> = turns.iter().map(|(to, _)| to.organization.uuid()).collect();
    let hosts: Vec<String> = turns.iter().map(|(to, _)| to.host.clone()).collect();
    let most = turns
        .iter()
        .map(|(_, most)| i32::try_from(*most).unwrap_or(i32::MAX));
    let most: Vec<i32> = most.collect();
    let rows = sqlx::query!(
        r#"with me as materialized (
               select 1 from shard.node
               where node = $1 and epoch = $2 and dead_at is null
                   and seen_until > clock_timestamp()
               for key share
           )
           update shard.delivery d set node = $1, epoch = $2
           from unnest($3::uuid[], $4::text[], $5::int[]) as turn (organization, host, most)
           cross join lateral (
               select cargo from shard.delivery
               where node is null and organization = turn.organization and host = turn.host
                   and due_at <= $6 and exists (select from me)
               order by due_at limit turn.most for update skip locked
           ) picked
           where d.cargo = picked.cargo
           returning d.cargo, d.organization, d.host, d.number, d.takeovers, d.resend"#,
        claim.node,
        claim.epoch,
        &organizations,
        &hosts,
        &most,
        now
    )
    .fetch_all(&shard.pool)
    .await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let cargo: Vec<Uuid> = rows.iter().map(|row| row.cargo).collect();
    let mut contents = contents(shard, &cargo).await?;
    let claimed = rows.into_iter().filter_map(|row| {
        let content = contents.remove(&row.cargo)?;
        Some(Claimed {
            cargo: row.cargo.into(),
            destination: Destination {
                organization: row.organization.into(),
                host: row.host,
            },
            url: content.url,
            number: u32::try_from(row.number).unwrap_or(1),
            takeovers: row.takeovers,
            is_resend: row.resend,
            success: content.success,
            outcome: content.outcome,
        })
    });
    Ok(claimed.collect())
}

struct Contents {
    url: String,
    success: bool,
    outcome: Vec<u8>,
}

async fn contents(
    shard: &Shard,
    cargo: &[Uuid],
) -> Result<std::collections::HashMap<Uuid, Contents>, Error> {
    let (first, last) = bounds(cargo);
    let rows = sqlx::query!(
        r#"select c.id, c.callback_url as "url!", o.success, o.codec, o.body
           from shard.cargo c join shard.outcome o on o.cargo = c.id
           where c.id = any($1) and c.id >= $2 and c.id <= $3
               and o.cargo >= $2 and o.cargo <= $3"#,
        cargo,
        first,
        last
    )
    .fetch_all(&shard.pool)
    .await?;
    rows.into_iter()
        .map(|row| {
            let outcome = body::unpack(row.codec, row.body, "outcome")?;
            Ok((
                row.id,
                Contents {
                    url: row.url,
                    success: row.success,
                    outcome,
                },
            ))
        })
        .collect()
}

/// Everything that this claim holds.
pub async fn held(shard: &Shard, claim: Claim) -> Result<Vec<CargoId>, Error> {
    let held = sqlx::query_scalar!(
        "select cargo from shard.delivery where node = $1 and epoch = $2",
        claim.node,
        claim.epoch
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(held.into_iter().map(CargoId::from_uuid).collect())
}

/// Gives claims back: others may make these attempts.
pub async fn free(shard: &Shard, claim: Claim, cargo: &[CargoId]) -> Result<u64, Error> {
    let cargo: Vec<Uuid> = cargo.iter().map(|id| id.uuid()).collect();
    let freed = sqlx::query!(
        "update shard.delivery set node = null, epoch = null
         where cargo = any($3) and node = $1 and epoch = $2",
        claim.node,
        claim.epoch,
        &cargo
    )
    .execute(&shard.pool)
    .await?;
    Ok(freed.rows_affected())
}

/// When the longest-waiting due callback became due.
pub async fn oldest(shard: &Shard) -> Result<Option<Timestamp>, Error> {
    let oldest = sqlx::query_scalar!("select min(due_at) from shard.delivery where node is null");
    Ok(oldest.fetch_one(&shard.pool).await?)
}
