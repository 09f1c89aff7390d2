//! Resends of callbacks that a person requested: a single one, or all that failed at a host, a few
//! per second.

use domain::id::{CargoId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::partition;
use crate::shard::waiting::id_bounds;

mod bulk;

mod step;

pub use bulk::{NewResend, Resend, ResendState, ResendStop, count_failed, list, start, stop};
pub use step::step;

/// The result of requesting a resend of one callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResendResult {
    /// One attempt is made now.
    Queued,
    /// The callback is still being retried: its next attempt is made now.
    AlreadyDue,
    /// The cargo is not completed, or has no callback.
    NothingToSend,
    /// The outcome was erased.
    Erased,
    NotFound,
}

/// Queues the callback of a completed cargo again, delivered or not.
pub async fn queue_one(
    shard: &Shard,
    project: ProjectId,
    cargo: CargoId,
    now: Timestamp,
) -> Result<ResendResult, Error> {
    let mut tx = shard.begin().await?;
    partition::lock_days(&mut tx).await?;
    let row = sqlx::query!(
        r#"select c.callback_url is not null and c.completed_at is not null as "is_due!",
               c.completed_at is not null and o.cargo is null as "is_leaving!",
               c.erased_at is not null as "is_erased!"
           from shard.cargo c left join shard.outcome o on o.cargo = $1
           where c.id = $1 and c.project = $2"#,
        cargo.uuid(),
        project.uuid()
    )
    .fetch_optional(&mut *tx)
    .await?;
    // When a day is being dropped, its outcomes are dropped first.
    let Some(row) = row.filter(|row| !row.is_leaving) else {
        return Ok(ResendResult::NotFound);
    };
    if row.is_erased {
        return Ok(ResendResult::Erased);
    }
    if !row.is_due {
        return Ok(ResendResult::NothingToSend);
    }
    let queued = sqlx::query!(
        "insert into shard.delivery (cargo, organization, host, number, due_at, resend)
         select id, organization, callback_host,
             (select coalesce(max(number), 0) + 1 from shard.attempt where cargo = $1), $2, true
         from shard.cargo where id = $1
         on conflict (cargo) do nothing",
        cargo.uuid(),
        now
    )
    .execute(&mut *tx)
    .await?;
    let mut resent = ResendResult::Queued;
    if queued.rows_affected() > 0 {
        if remove_erased(&mut tx, &[cargo.uuid()]).await? > 0 {
            resent = ResendResult::Erased;
        }
    } else {
        resent = ResendResult::AlreadyDue;
        sqlx::query!(
            "update shard.delivery set due_at = $2 where cargo = $1 and due_at > $2",
            cargo.uuid(),
            now
        )
        .execute(&mut *tx)
        .await?;
    }
    tx.commit().await?;
    Ok(resent)
}

/// Removes the deliveries of cargo that was erased before this transaction queued them. Until it
/// ends, the others are not erased. Called after the deliveries are queued: deliver, too, locks a
/// delivery before its cargo.
async fn remove_erased(tx: &mut Transaction, cargo: &[Uuid]) -> Result<u64, Error> {
    let (first, last) = id_bounds(cargo);
    let removed = sqlx::query!(
        "with locked as materialized (
             select id, erased_at from shard.cargo
             where id = any($1) and id >= $2 and id <= $3
             order by id for share
         )
         delete from shard.delivery d using locked
         where d.cargo = locked.id and locked.erased_at is not null",
        cargo,
        first,
        last
    )
    .execute(&mut **tx)
    .await?;
    Ok(removed.rows_affected())
}
