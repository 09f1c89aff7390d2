//! The queue of cargo that waits to be gathered. Only the worker that has claimed a lane gathers
//! from its queue.

use std::time::Duration;

use domain::id::{BatchId, CargoId, OrganizationId, ProjectId};
use domain::lane::LaneId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::cargo_id_range::CargoIdRange;
use crate::shard::time_limit;

/// An organization with waiting cargo, and the first cargo that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingOrganization {
    pub organization: OrganizationId,
    pub first: CargoId,
}

/// The organizations with cargo in a lane: one index lookup for each, for any backlog.
///
/// While an old transaction is open, the index is full of dead rows, and each lookup reads over
/// them. None: this took longer than `limit`; [`list_between`] avoids them.
pub async fn list_organizations(
    shard: &Shard,
    lane: LaneId,
    limit: Duration,
) -> Result<Option<Vec<WaitingOrganization>>, Error> {
    let mut tx = time_limit::begin_limited(shard, limit).await?;
    let rows = sqlx::query!(
        r#"with recursive hop as (
               (select organization, cargo from shard.waiting where lane = $1
                order by organization, cargo limit 1)
               union all
               select next.organization, next.cargo from hop cross join lateral (
                   select organization, cargo from shard.waiting
                   where lane = $1 and organization > hop.organization
                   order by organization, cargo limit 1
               ) next
           )
           select organization as "organization!", cargo as "cargo!" from hop"#,
        lane.0
    )
    .fetch_all(&mut *tx)
    .await;
    let rows = time_limit::none_if_timed_out(rows)?;
    tx.rollback().await?;
    let waiting = |row: (Uuid, Uuid)| WaitingOrganization {
        organization: row.0.into(),
        first: row.1.into(),
    };
    Ok(rows.map(|rows| {
        let rows = rows.into_iter().map(|row| (row.organization, row.cargo));
        rows.map(waiting).collect()
    }))
}

/// The organizations with cargo in a lane with ids after `after` and up to `until`. Its cost
/// depends on how much was loaded in that time, not on what was gathered since.
pub async fn list_between(
    shard: &Shard,
    lane: LaneId,
    after: Uuid,
    until: Uuid,
) -> Result<Vec<WaitingOrganization>, Error> {
    let rows = sqlx::query!(
        "select distinct on (organization) organization, cargo from shard.waiting
         where lane = $1 and cargo > $2 and cargo <= $3 order by organization, cargo",
        lane.0,
        after,
        until
    )
    .fetch_all(&shard.pool)
    .await?;
    let waiting = rows.into_iter().map(|row| WaitingOrganization {
        organization: row.organization.into(),
        first: row.cargo.into(),
    });
    Ok(waiting.collect())
}

/// The organizations with requeued cargo in some lanes that became due after `after`. Such cargo
/// has an old id, so [`list_arrivals`] does not find it.
pub async fn list_returned(
    shard: &Shard,
    lanes: &[LaneId],
    after: Timestamp,
    now: Timestamp,
) -> Result<Vec<(LaneId, WaitingOrganization)>, Error> {
    let lanes: Vec<i32> = lanes.iter().map(|lane| lane.0).collect();
    let rows = sqlx::query!(
        "select distinct on (lane, organization) lane, organization, cargo from shard.waiting
         where lane = any($1) and due_at > $2 and due_at <= $3
         order by lane, organization, cargo",
        &lanes,
        after,
        now
    )
    .fetch_all(&shard.pool)
    .await?;
    let returned = rows.into_iter().map(|row| {
        let waiting = WaitingOrganization {
            organization: row.organization.into(),
            first: row.cargo.into(),
        };
        (LaneId(row.lane), waiting)
    });
    Ok(returned.collect())
}

/// The organizations with cargo in some lanes with ids after `after`.
pub async fn list_arrivals(
    shard: &Shard,
    lanes: &[LaneId],
    after: Uuid,
) -> Result<Vec<(LaneId, WaitingOrganization)>, Error> {
    let lanes: Vec<i32> = lanes.iter().map(|lane| lane.0).collect();
    let rows = sqlx::query!(
        "select distinct on (lane, organization) lane, organization, cargo from shard.waiting
         where lane = any($1) and cargo > $2 order by lane, organization, cargo",
        &lanes,
        after
    )
    .fetch_all(&shard.pool)
    .await?;
    let arrivals = rows.into_iter().map(|row| {
        let waiting = WaitingOrganization {
            organization: row.organization.into(),
            first: row.cargo.into(),
        };
        (LaneId(row.lane), waiting)
    });
    Ok(arrivals.collect())
}

/// How much of one organization may be gathered, starting after the last gathered cargo.
#[derive(Debug, Clone, Copy)]
pub struct GatherQuota {
    pub organization: OrganizationId,
    pub after: Uuid,
    pub max: usize,
}

/// The cargo to gather by these quotas, in load order per organization. Cargo in backoff is
/// skipped.
pub async fn pick(
    tx: &mut Transaction,
    lane: LaneId,
    quotas: &[GatherQuota],
    now: Timestamp,
) -> Result<Vec<(OrganizationId, CargoId)>, Error> {
    let organizations: Vec<Uuid> = quotas
        .iter()
        .map(|quota| quota.organization.uuid())
        .collect();
    let after: Vec<Uuid> = quotas.iter().map(|quota| quota.after).collect();
    let max = quotas
        .iter()
        .map(|quota| i32::try_from(quota.max).unwrap_or(i32::MAX));
    let max: Vec<i32> = max.collect();
    let rows = sqlx::query!(
        r#"select quota.organization as "organization!", picked.cargo as "cargo!"
           from unnest($2::uuid[], $3::uuid[], $4::int[]) as quota (organization, after, max)
           cross join lateral (
               select cargo from shard.waiting
               where lane = $1 and organization = quota.organization and cargo > quota.after
                   and (due_at is null or due_at <= $5)
               order by cargo limit quota.max
           ) picked"#,
        lane.0,
        &organizations,
        &after,
        &max,
        now
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (row.organization.into(), row.cargo.into()))
        .collect())
}

/// Moves picked cargo from the queue into a batch, and returns how much that was. Cargo that left
/// the queue meanwhile, cancelled or for another lane, is left out. Without any there is no batch.
pub async fn gather(
    tx: &mut Transaction,
    lane: LaneId,
    batch: BatchId,
    picked: &[(OrganizationId, CargoId)],
    now: Timestamp,
) -> Result<usize, Error> {
    let organizations: Vec<Uuid> = picked.iter().map(|(id, _)| id.uuid()).collect();
    let cargo: Vec<Uuid> = picked.iter().map(|(_, id)| id.uuid()).collect();
    let (first, last) = id_bounds(&cargo);
    let row = sqlx::query!(
        r#"with gone as (
               delete from shard.waiting w
               using unnest($3::uuid[], $4::uuid[]) as picked (organization, cargo)
               where w.lane = $1 and w.organization = picked.organization and w.cargo = picked.cargo
               returning w.cargo
           ), moved as (
               -- Every transaction locks a cargo's row in the queue before the cargo. The array is
               -- complete before the first update, and is searched for by index.
               update shard.cargo c set batch = $2
               where c.id = any(array(select gone.cargo from gone)) and c.lane = $1
                   and c.batch is null and c.completed_at is null
                   -- Names the days, so that the others are not even opened.
                   and c.id >= $6 and c.id <= $7
               returning c.id, c.project, c.deadline_at
           ), batched as (
               insert into shard.batch (id, lane, state, cargo, gathered_at, first_deadline_at)
               select $2::uuid, $1::int, 'gathered', array_agg(id order by place),
                   $5::timestamptz, (select min(deadline_at) from moved)
               -- One pass over both lists, whatever their length.
               from (select id, max(place) as place from (
                         select id, null::bigint as place from moved
                         union all select * from unnest($4::uuid[]) with ordinality
                     ) listed group by id having count(*) = 2) picked
               having count(*) > 0
           ), shared as (
               insert into shard.share (project, batch, cargo)
               select project, $2, count(*) from moved group by project
           )
           select (select count(*) from gone) as "gone!", (select count(*) from moved) as "moved!""#,
        lane.0,
        batch.uuid(),
        &organizations,
        &cargo,
        now,
        first,
        last
    )
    .fetch_one(&mut **tx)
    .await?;
    // A row of the queue whose cargo is elsewhere: nothing must be written.
    if row.gone != row.moved {
        return Err(Error::Fenced);
    }
    Ok(usize::try_from(row.moved).unwrap_or_default())
}

/// Waiting cargo that has missed its deadline.
#[derive(Debug, Clone, Copy)]
pub struct OverdueCargo {
    pub cargo: CargoId,
    pub project: ProjectId,
    pub attempt: u32,
}

/// Reads these cargo. Waiting rows are not partitioned, so nearly always nothing is late, and no
/// statement is planned over all days.
pub(crate) async fn read_overdue(shard: &Shard, late: &[Uuid]) -> Result<Vec<OverdueCargo>, Error> {
    if late.is_empty() {
        return Ok(Vec::new());
    }
    let (first, last) = id_bounds(late);
    let rows = sqlx::query!(
        "select id, project, attempt from shard.cargo
         where id = any($1) and id >= $2 and id <= $3",
        late,
        first,
        last
    )
    .fetch_all(&shard.pool)
    .await?;
    let overdue = rows.into_iter().map(|row| OverdueCargo {
        cargo: row.id.into(),
        project: row.project.into(),
        attempt: u32::try_from(row.attempt).unwrap_or(1),
    });
    Ok(overdue.collect())
}

/// Waiting cargo with ids in this range: it has missed its deadline.
pub async fn list_overdue(
    shard: &Shard,
    ids: CargoIdRange,
    most: i64,
) -> Result<Vec<OverdueCargo>, Error> {
    let late = sqlx::query_scalar!(
        r#"select late.cargo as "cargo!" from shard.lane l cross join lateral (
               select cargo from shard.waiting
               where lane = l.id and cargo >= $1 and cargo < $2 order by cargo limit $3
           ) late
           limit $3"#,
        ids.first,
        ids.beyond,
        most
    )
    .fetch_all(&shard.pool)
    .await?;
    read_overdue(shard, &late).await
}

/// Requeued cargo that became due after `after` and has missed its deadline: its id is before
/// `before`.
pub async fn list_returned_overdue(
    shard: &Shard,
    after: Timestamp,
    now: Timestamp,
    before: Uuid,
    most: i64,
) -> Result<Vec<OverdueCargo>, Error> {
    let late = sqlx::query_scalar!(
        r#"select late.cargo as "cargo!" from shard.lane l cross join lateral (
               select cargo from shard.waiting
               where lane = l.id and due_at > $1 and due_at <= $2 and cargo < $3 limit $4
           ) late
           limit $4"#,
        after,
        now,
        before,
        most
    )
    .fetch_all(&shard.pool)
    .await?;
    read_overdue(shard, &late).await
}

/// Moves waiting cargo with ids in this range to another lane.
pub async fn move_to_lane(
    shard: &Shard,
    from: LaneId,
    to: LaneId,
    ids: CargoIdRange,
    most: i64,
) -> Result<u64, Error> {
    let moved = sqlx::query!(
        "with gone as (
             delete from shard.waiting where (lane, organization, cargo) in (
                 select lane, organization, cargo from shard.waiting
                 where lane = $1 and cargo >= $5 and cargo < $3
                 order by cargo limit $4 for update skip locked
             )
             returning organization, cargo, greatest(due_at, $6) as due_at, deadline_at
         ), moved as (
             update shard.cargo c set lane = $2 from gone where c.id = gone.cargo
         )
         insert into shard.waiting (lane, organization, cargo, due_at, deadline_at)
         -- The new lane's gatherer finds it by this moment.
         select $2, organization, cargo, due_at, deadline_at from gone",
        from.0,
        to.0,
        ids.beyond,
        most,
        ids.first,
        shard.clock.now()
    )
    .execute(&shard.pool)
    .await?;
    Ok(moved.rows_affected())
}

/// The oldest waiting cargo of all lanes with an id from `from` on and before `before`.
pub async fn find_oldest(shard: &Shard, from: Uuid, before: Uuid) -> Result<Option<Uuid>, Error> {
    let oldest = sqlx::query_scalar!(
        r#"select first.cargo as "cargo!" from shard.lane l cross join lateral (
               select cargo from shard.waiting
               where lane = l.id and cargo >= $1 and cargo < $2 order by cargo limit 1
           ) first order by first.cargo limit 1"#,
        from,
        before
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(oldest)
}

/// The oldest requeued cargo that became due after `after`.
pub async fn find_oldest_returned(
    shard: &Shard,
    after: Timestamp,
    now: Timestamp,
) -> Result<Option<Uuid>, Error> {
    let oldest = sqlx::query_scalar!(
        r#"select first.cargo as "cargo!" from shard.lane l cross join lateral (
               select cargo from shard.waiting
               where lane = l.id and due_at > $1 and due_at <= $2
           ) first order by first.cargo limit 1"#,
        after,
        now
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(oldest)
}

/// The smallest and the largest of some ids, which limit a query to the partitions of their days.
pub(crate) fn id_bounds(ids: &[Uuid]) -> (Uuid, Uuid) {
    let first = ids.iter().min().copied().unwrap_or_default();
    let last = ids.iter().max().copied().unwrap_or_default();
    (first, last)
}
