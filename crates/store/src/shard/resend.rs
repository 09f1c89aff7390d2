//! Callbacks that somebody asks for again: one, or what failed at a host, a few each second.

use domain::id::{CargoId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::shard::partition;

mod many;

mod step;

pub use many::{Asked, Resend, State, Stopped, count, list, start, stop};
pub use step::step;

/// What becomes of a wish for one callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resent {
    /// It is sent now, once.
    Queued,
    /// It is still being tried: the attempt that comes next is made now.
    AlreadyDue,
    /// It is not completed, or no callback was asked for.
    NothingToSend,
    NotFound,
}

/// Has the callback of a completed cargo made again, delivered or not.
pub async fn one(
    shard: &Shard,
    project: ProjectId,
    cargo: CargoId,
    now: Timestamp,
) -> Result<Resent, Error> {
    let mut tx = shard.begin().await?;
    partition::keep_days(&mut tx).await?;
    let row = sqlx::query!(
        r#"select c.callback_url is not null and c.completed_at is not null as "is_due!",
               c.completed_at is not null and o.cargo is null as "is_leaving!"
           from shard.cargo c left join shard.outcome o on o.cargo = $1
           where c.id = $1 and c.project = $2"#,
        cargo.uuid(),
        project.uuid()
    )
    .fetch_optional(&mut *tx)
    .await?;
    // A day that is being dropped loses its outcomes first.
    let Some(row) = row.filter(|row| !row.is_leaving) else {
        return Ok(Resent::NotFound);
    };
    if !row.is_due {
        return Ok(Resent::NothingToSend);
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
    let mut resent = Resent::Queued;
    if queued.rows_affected() == 0 {
        resent = Resent::AlreadyDue;
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
