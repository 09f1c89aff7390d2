//! Waiting cargo with deadlines of callers: what is urgent, what moves to another lane, and what has
//! missed its deadline.

use domain::cargo::CARGO_DEADLINE;
use domain::id::{self, CargoId, OrganizationId};
use domain::lane::LaneId;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::waiting::{OverdueCargo, read_overdue};

/// The cargo of a lane with a deadline before `before`, the earliest deadline first. Cargo in backoff
/// is skipped.
pub async fn pick_urgent(
    tx: &mut Transaction,
    lane: LaneId,
    before: Timestamp,
    most: usize,
    now: Timestamp,
) -> Result<Vec<(OrganizationId, CargoId)>, Error> {
    let rows = sqlx::query!(
        "select organization, cargo from shard.waiting
         where lane = $1 and deadline_at < $2 and (due_at is null or due_at <= $3)
         order by deadline_at, cargo limit $4",
        lane.0,
        before,
        now,
        i64::try_from(most).unwrap_or(i64::MAX)
    )
    .fetch_all(&mut **tx)
    .await?;
    let picked = rows
        .into_iter()
        .map(|row| (row.organization.into(), row.cargo.into()));
    Ok(picked.collect())
}

/// Waiting cargo whose caller's deadline has passed.
pub async fn list_past_deadline(
    shard: &Shard,
    now: Timestamp,
    most: i64,
) -> Result<Vec<OverdueCargo>, Error> {
    let late = sqlx::query_scalar!(
        r#"select late.cargo as "cargo!" from shard.lane l cross join lateral (
               select cargo from shard.waiting
               where lane = l.id and deadline_at <= $1 order by deadline_at limit $2
           ) late
           limit $2"#,
        now,
        most
    )
    .fetch_all(&shard.pool)
    .await?;
    read_overdue(shard, &late).await
}

/// Waiting cargo that takes another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneMove {
    pub from: LaneId,
    pub to: LaneId,
    /// Cargo with a deadline of its caller from then on.
    pub due_from: Timestamp,
    /// And before this.
    pub due_before: Timestamp,
    /// The code of a `RouteReason`.
    pub reason: &'static str,
}

/// Moves waiting cargo with deadlines of their callers.
pub async fn move_by_deadline(shard: &Shard, way: LaneMove, most: i64) -> Result<u64, Error> {
    let moved = sqlx::query!(
        "with gone as (
             delete from shard.waiting where (lane, organization, cargo) in (
                 select lane, organization, cargo from shard.waiting
                 where lane = $1 and deadline_at >= $3 and deadline_at < $4
                 order by deadline_at limit $5 for update skip locked
             )
             returning organization, cargo, deadline_at
         ), moved as (
             update shard.cargo c set lane = $2, route_reason = $6
             from gone where c.id = gone.cargo
         )
         insert into shard.waiting (lane, organization, cargo, due_at, deadline_at)
         -- The new lane's gatherer finds it by this moment. A backoff of the old lane ends.
         select $2, organization, cargo, $7, deadline_at from gone",
        way.from.0,
        way.to.0,
        way.due_from,
        way.due_before,
        most,
        way.reason,
        shard.clock.now()
    )
    .execute(&shard.pool)
    .await?;
    Ok(moved.rows_affected())
}

/// Moves waiting cargo whose callers set no deadline, and whose usual deadline is not before that of
/// the move.
pub async fn move_without_deadline(shard: &Shard, way: LaneMove, most: i64) -> Result<u64, Error> {
    let first = id::first_id_at(way.due_from - CARGO_DEADLINE);
    let moved = sqlx::query!(
        "with gone as (
             delete from shard.waiting where (lane, organization, cargo) in (
                 select lane, organization, cargo from shard.waiting
                 where lane = $1 and deadline_at is null and cargo >= $6
                 order by cargo limit $3 for update skip locked
             )
             returning organization, cargo
         ), moved as (
             update shard.cargo c set lane = $2, route_reason = $4
             from gone where c.id = gone.cargo
         )
         insert into shard.waiting (lane, organization, cargo, due_at)
         select $2, organization, cargo, $5 from gone",
        way.from.0,
        way.to.0,
        most,
        way.reason,
        shard.clock.now(),
        first
    )
    .execute(&shard.pool)
    .await?;
    Ok(moved.rows_affected())
}
