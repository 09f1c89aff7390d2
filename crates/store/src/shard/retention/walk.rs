//! The steps of erasure: along the cargo of a project by id, and through the queue of cargo that
//! was not due then.

use chrono::TimeDelta;
use domain::id;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use super::candidates::erase_due;
use super::{ended_groups, retention_from_row};
use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::parcel;

/// How many cargo one transaction examines.
pub const MAX_CARGO_PER_STEP: usize = 500;
/// How long after its last cargo a project is examined again.
const WALK_INTERVAL: TimeDelta = TimeDelta::minutes(10);

/// A project whose walk is due, locked until the transaction ends.
struct DueWalk {
    project: Uuid,
    days: i16,
    position: Uuid,
}

/// Examines the next cargo of the project that waits longest; after its last one also its groups and
/// input files. Returns how many cargo were erased.
pub async fn walk(shard: &Shard, now: Timestamp) -> Result<usize, Error> {
    // A cheap read first, instead of a transaction each time.
    let due = sqlx::query_scalar!(
        r#"select exists (select from shard.retention where next_at <= $1) as "due!""#,
        now
    );
    if !due.fetch_one(&shard.pool).await? {
        return Ok(0);
    }
    let mut tx = shard.background.begin().await?;
    let Some(due) = lock_due(&mut tx, now).await? else {
        tx.rollback().await?;
        return Ok(0);
    };
    let retention = retention_from_row(due.days);
    let beyond = id::first_id_at(now - retention.min_age());
    let page = sqlx::query_scalar!(
        "select id from shard.cargo where project = $1 and id > $2 and id < $3
         order by id limit $4",
        due.project,
        due.position,
        beyond,
        max_rows()
    )
    .fetch_all(&mut *tx)
    .await?;
    let erased = erase_due(&mut tx, &page, now).await?;
    let is_done = page.len() < MAX_CARGO_PER_STEP;
    sqlx::query!(
        "update shard.retention set position = coalesce($2, position), next_at = $3
         where project = $1",
        due.project,
        page.last().copied(),
        if is_done { now + WALK_INTERVAL } else { now }
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    if is_done {
        // A file that was uploaded while the retention changed may have missed it.
        parcel::limit_age(shard, due.project, retention, now).await?;
        if !ended_groups::erase_texts(shard, due.project, retention, now).await? {
            walk_again(shard, due.project, now).await?;
        }
    }
    Ok(erased)
}

/// More groups are past the retention than one step erases.
async fn walk_again(shard: &Shard, project: Uuid, now: Timestamp) -> Result<(), Error> {
    sqlx::query!(
        "update shard.retention set next_at = $2 where project = $1",
        project,
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

async fn lock_due(tx: &mut Transaction, now: Timestamp) -> Result<Option<DueWalk>, Error> {
    let due = sqlx::query_as!(
        DueWalk,
        "select project, days, position from shard.retention where next_at <= $1
         order by next_at limit 1 for update skip locked",
        now
    );
    Ok(due.fetch_optional(&mut **tx).await?)
}

/// Examines queued cargo that became due after `from`. Returns how many were examined, and how many
/// of them were erased.
pub async fn erase_queued(
    shard: &Shard,
    from: Timestamp,
    now: Timestamp,
) -> Result<(usize, usize), Error> {
    let due = sqlx::query_scalar!(
        r#"select exists (select from shard.erasure where due_at >= $1 and due_at <= $2)
               as "due!""#,
        from,
        now
    );
    if !due.fetch_one(&shard.pool).await? {
        return Ok((0, 0));
    }
    let mut tx = shard.background.begin().await?;
    // Cargo whose day was dropped, or whose project keeps it now, leaves the queue here.
    let cargo = sqlx::query_scalar!(
        "delete from shard.erasure where cargo in (
             select cargo from shard.erasure where due_at >= $1 and due_at <= $2
             order by due_at limit $3 for update skip locked)
         returning cargo",
        from,
        now,
        max_rows()
    )
    .fetch_all(&mut *tx)
    .await?;
    let erased = erase_due(&mut tx, &cargo, now).await?;
    tx.commit().await?;
    Ok((cargo.len(), erased))
}

fn max_rows() -> i64 {
    i64::try_from(MAX_CARGO_PER_STEP).unwrap_or(i64::MAX)
}
