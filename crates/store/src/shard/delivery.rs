//! The queue of callbacks: which destinations have something due, claims, and what to send.

use domain::id::{CargoId, OrganizationId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::node::Claim;

mod contents;

mod due;

pub use contents::{StoredCallback, read_bodies, read_callbacks};
pub use due::{
    DueDestination, DueDestinationPage, list_due_destinations, list_live_nodes, list_newly_due,
};

/// An organization and the host of its callbacks. Slots are counted per destination.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Destination {
    pub organization: OrganizationId,
    pub host: String,
}

/// How many deliveries of one destination may be claimed.
#[derive(Debug, Clone)]
pub struct DeliveryClaimQuota {
    pub destination: Destination,
    /// Nothing is due before this, so the scan skips rows that were claimed earlier.
    pub due_from: Timestamp,
    pub max: usize,
}

/// A delivery that this node has claimed, without its contents.
#[derive(Debug, Clone)]
pub struct ClaimedDelivery {
    pub cargo: CargoId,
    pub destination: Destination,
    pub due_at: Timestamp,
    pub number: u32,
    pub takeovers: i32,
    /// A person requested a resend: one attempt, without retries.
    pub is_resend: bool,
}

/// Claims due deliveries of some destinations, at most each one's quota, as a live node.
pub async fn claim(
    shard: &Shard,
    claim: Claim,
    quotas: &[DeliveryClaimQuota],
    now: Timestamp,
) -> Result<Vec<ClaimedDelivery>, Error> {
    let columns = Columns::of(quotas);
    let rows = sqlx::query!(
        r#"with me as materialized (
               select 1 from shard.node
               where node = $1 and epoch = $2 and dead_at is null
                   and seen_until > clock_timestamp()
               for key share
           )
           update shard.delivery d set node = $1, epoch = $2
           from unnest($3::uuid[], $4::text[], $5::timestamptz[], $6::int[])
               as quota (organization, host, due_from, max)
           cross join lateral (
               select cargo from shard.delivery
               -- Rows are compared whole, so that only the index on all three is of use. Before
               -- due_from lie dead rows, as long as an old transaction is open.
               where node is null
                   and (organization, host, due_at)
                       >= (quota.organization, quota.host, quota.due_from)
                   and (organization, host, due_at) <= (quota.organization, quota.host, $7)
                   and exists (select from me)
               order by organization, host, due_at limit quota.max for update skip locked
           ) picked
           where d.cargo = picked.cargo
           returning d.cargo, d.organization, d.host, d.due_at, d.number, d.takeovers, d.resend"#,
        claim.node,
        claim.epoch,
        &columns.organizations,
        &columns.hosts,
        &columns.due_from,
        &columns.max,
        now
    )
    .fetch_all(&shard.pool)
    .await?;
    let claimed = rows.into_iter().map(|row| ClaimedDelivery {
        cargo: row.cargo.into(),
        destination: Destination {
            organization: row.organization.into(),
            host: row.host,
        },
        due_at: row.due_at,
        number: u32::try_from(row.number).unwrap_or(1),
        takeovers: row.takeovers,
        is_resend: row.resend,
    });
    Ok(claimed.collect())
}

#[derive(Default)]
struct Columns {
    organizations: Vec<Uuid>,
    hosts: Vec<String>,
    due_from: Vec<Timestamp>,
    max: Vec<i32>,
}

impl Columns {
    fn of(quotas: &[DeliveryClaimQuota]) -> Self {
        let mut columns = Self::default();
        for quota in quotas {
            columns
                .organizations
                .push(quota.destination.organization.uuid());
            columns.hosts.push(quota.destination.host.clone());
            columns.due_from.push(quota.due_from);
            columns
                .max
                .push(i32::try_from(quota.max).unwrap_or(i32::MAX));
        }
        columns
    }
}

/// The cargo of all deliveries that this claim holds.
pub async fn list_claimed(shard: &Shard, claim: Claim) -> Result<Vec<CargoId>, Error> {
    let held = sqlx::query_scalar!(
        "select cargo from shard.delivery where node = $1 and epoch = $2",
        claim.node,
        claim.epoch
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(held.into_iter().map(CargoId::from_uuid).collect())
}

/// Releases claims: other nodes may make these attempts.
pub async fn release(shard: &Shard, claim: Claim, cargo: &[CargoId]) -> Result<u64, Error> {
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

/// Releases claims without an attempt. The callbacks are due again at `due_at`.
pub async fn postpone(
    shard: &Shard,
    claim: Claim,
    cargo: &[CargoId],
    due_at: Timestamp,
) -> Result<(), Error> {
    let cargo: Vec<Uuid> = cargo.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "update shard.delivery set node = null, epoch = null, due_at = $4
         where cargo = any($3) and node = $1 and epoch = $2",
        claim.node,
        claim.epoch,
        &cargo,
        due_at
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// The earliest due time of the callbacks that are not claimed.
pub async fn find_oldest_due(shard: &Shard) -> Result<Option<Timestamp>, Error> {
    let oldest = sqlx::query_scalar!("select min(due_at) from shard.delivery where node is null");
    Ok(oldest.fetch_one(&shard.pool).await?)
}
