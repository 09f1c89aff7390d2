//! Batches: gathered, submitted, polled, ended.

use chrono::TimeDelta;
use domain::batch::State;
use domain::id::{BatchId, CargoId};
use domain::lane::LaneId;
use domain::route::Via;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::node::Claim;

/// A batch in a stage's hands.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub id: BatchId,
    pub lane: LaneId,
    pub state: State,
    pub cargo: Vec<CargoId>,
    pub job: Option<String>,
    pub takeovers: i32,
}

macro_rules! claimed {
    ($rows:expr) => {
        $rows
            .into_iter()
            .map(|row| {
                let state = State::parse(&row.state);
                Ok(Claimed {
                    id: row.id.into(),
                    lane: LaneId(row.lane),
                    state: state.ok_or(Error::Corrupt {
                        table: "batch",
                        column: "state",
                    })?,
                    cargo: row.cargo.into_iter().map(CargoId::from_uuid).collect(),
                    job: row.job,
                    takeovers: row.takeovers,
                })
            })
            .collect()
    };
}

/// Takes batches that are to be submitted, the oldest first, and writes the intent.
pub async fn claim_gathered(
    shard: &Shard,
    claim: Claim,
    most: i64,
    now: Timestamp,
) -> Result<Vec<Claimed>, Error> {
    let mut rows = sqlx::query!(
        "update shard.batch set state = 'submitting', submitting_at = coalesce(submitting_at, $4),
             node = $1, epoch = $2
         where id in (
             select id from shard.batch
             where state in ('gathered', 'submitting') and node is null
                 and (next_poll_at is null or next_poll_at <= $4)
             order by gathered_at, id limit $3 for update skip locked
         )
         returning id, lane, state, cargo, job, takeovers",
        claim.node,
        claim.epoch,
        most,
        now
    )
    .fetch_all(&shard.pool)
    .await?;
    // An update answers in no order; ids sort by time.
    rows.sort_unstable_by_key(|row| row.id);
    claimed!(rows)
}

/// Takes batches whose provider is to be asked, of lanes that go one way.
pub async fn claim_due(
    shard: &Shard,
    claim: Claim,
    via: Via,
    most: i64,
    now: Timestamp,
) -> Result<Vec<Claimed>, Error> {
    let rows = sqlx::query!(
        "update shard.batch set node = $1, epoch = $2
         where id in (
             select id from shard.batch
             where state = 'running' and node is null and next_poll_at <= $4
                 and lane in (select id from shard.lane where via = $5)
             order by next_poll_at limit $3 for update skip locked
         )
         returning id, lane, state, cargo, job, takeovers",
        claim.node,
        claim.epoch,
        most,
        now,
        via.as_str()
    )
    .fetch_all(&shard.pool)
    .await?;
    claimed!(rows)
}

/// The provider took it. It is not claimed any more: it has a time to be asked again.
pub async fn run(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    job: &str,
    next_poll_at: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set state = 'running', running_at = $5, job = $4, next_poll_at = $6,
             node = null, epoch = null, takeovers = 0
         where id = $1 and node = $2 and epoch = $3 and state = 'submitting'",
        batch.uuid(),
        claim.node,
        claim.epoch,
        job,
        now,
        next_poll_at
    )
    .execute(&shard.pool)
    .await?;
    ours(changed.rows_affected())
}

/// Not done yet, or not taken: to be tried again at `next_poll_at`, by whoever comes first.
pub async fn ask_again(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    next_poll_at: Timestamp,
) -> Result<(), Error> {
    let changed = sqlx::query!(
        "update shard.batch set next_poll_at = $4, node = null, epoch = null
         where id = $1 and node = $2 and epoch = $3",
        batch.uuid(),
        claim.node,
        claim.epoch,
        next_poll_at
    )
    .execute(&shard.pool)
    .await?;
    ours(changed.rows_affected())
}

/// Frees what this claim holds in a state. A stage that failed may have claimed more
/// than it knows of: the answer to its claim can be lost.
pub async fn free_own(
    shard: &Shard,
    claim: Claim,
    state: State,
    via: Option<Via>,
) -> Result<u64, Error> {
    let freed = sqlx::query!(
        "update shard.batch set node = null, epoch = null
         where node = $1 and epoch = $2 and state = $3
             and ($4::text is null or lane in (select id from shard.lane where via = $4))",
        claim.node,
        claim.epoch,
        state.as_str(),
        via.map(Via::as_str)
    )
    .execute(&shard.pool)
    .await?;
    Ok(freed.rows_affected())
}

/// The way that unfinished cargo takes next; without one, the same as before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Onward {
    pub lane: Option<LaneId>,
    /// What has an id before this one goes to that lane instead.
    pub urgent: Option<(Uuid, LaneId)>,
    /// How long it waits there at least, by the attempt that it comes back from; empty: no longer
    /// than others.
    pub rests: Vec<TimeDelta>,
}

/// Ends a batch. What has no outcome goes back to wait, one attempt further.
pub async fn end(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    onward: Onward,
    now: Timestamp,
) -> Result<u64, Error> {
    let mut tx = shard.begin().await?;
    let changed = sqlx::query!(
        "update shard.batch set state = 'ended', ended_at = $4, node = null, epoch = null,
             job = coalesce(job, '')
         where id = $1 and node = $2 and epoch = $3",
        batch.uuid(),
        claim.node,
        claim.epoch,
        now
    )
    .execute(&mut *tx)
    .await?;
    ours(changed.rows_affected())?;
    let rests: Vec<f64> = onward
        .rests
        .iter()
        .map(|rest| rest.as_seconds_f64())
        .collect();
    let returned = sqlx::query!(
        "with back as (
             update shard.cargo c set batch = null, attempt = attempt + 1, returned_at = $5,
                 lane = case when c.id < $3 then $4 else coalesce($2, c.lane) end
             from shard.batch b, unnest(b.cargo) as item (id)
             where b.id = $1 and c.id = item.id and c.batch = $1 and c.completed_at is null
             returning c.lane, c.organization, c.id, c.attempt - 1 as attempt
         )
         insert into shard.waiting (lane, organization, cargo, due_at)
         select lane, organization, id,
             $5::timestamptz + make_interval(
                 secs => ($6::float8[])[least(attempt, cardinality($6::float8[]))])
         from back",
        batch.uuid(),
        onward.lane.map(|lane| lane.0),
        onward.urgent.map(|(before, _)| before),
        onward.urgent.map(|(_, lane)| lane.0),
        now,
        &rests
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(returned.rows_affected())
}

/// Splits a batch that keeps killing its workers: the poison is in one of the halves.
pub async fn halve(
    shard: &Shard,
    batch: &Claimed,
    claim: Claim,
    halves: [BatchId; 2],
    now: Timestamp,
) -> Result<(), Error> {
    let mut tx = shard.begin().await?;
    let changed = sqlx::query!(
        "update shard.batch set state = 'ended', ended_at = $4, node = null, epoch = null,
             job = coalesce(job, '')
         where id = $1 and node = $2 and epoch = $3",
        batch.id.uuid(),
        claim.node,
        claim.epoch,
        now
    )
    .execute(&mut *tx)
    .await?;
    ours(changed.rows_affected())?;
    let (first, second) = batch.cargo.split_at(batch.cargo.len() / 2);
    for (half, cargo) in halves.into_iter().zip([first, second]) {
        let cargo: Vec<_> = cargo.iter().map(|id| id.uuid()).collect();
        sqlx::query!(
            "with made as (
                 insert into shard.batch (id, lane, state, cargo, gathered_at)
                 values ($1, $2, 'gathered', $3, $4)
             ), moved as (
                 update shard.cargo c set batch = $1 from unnest($3::uuid[]) as item (id)
                 where c.id = item.id and c.batch = $5 and c.completed_at is null
                 returning c.project
             ), counts as (
                 select project, count(*) as cargo from moved group by project
             ), shared as (
                 insert into shard.share (project, batch, cargo)
                 select project, $1, cargo from counts
             )
             update shard.share s set cargo = s.cargo - counts.cargo from counts
             where s.project = counts.project and s.batch = $5",
            half.uuid(),
            batch.lane.0,
            &cargo,
            now,
            batch.id.uuid()
        )
        .execute(&mut *tx)
        .await?;
    }
    tx.commit().await?;
    Ok(())
}

/// The oldest batch that is to be submitted, and the oldest that is due to be asked for.
pub async fn oldest(shard: &Shard) -> Result<(Option<Timestamp>, Option<Timestamp>), Error> {
    let row = sqlx::query!(
        "select (select min(gathered_at) from shard.batch
                 where state in ('gathered', 'submitting') and node is null) as gathered,
                (select min(next_poll_at) from shard.batch
                 where state = 'running' and node is null) as polled"
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok((row.gathered, row.polled))
}

pub(crate) const fn ours(changed: u64) -> Result<(), Error> {
    if changed == 1 {
        Ok(())
    } else {
        Err(Error::Moved)
    }
}
