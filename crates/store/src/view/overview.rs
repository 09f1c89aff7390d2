//! The overview page of a project: charges, first steps, and the newest failures.

use domain::id::{CargoId, ProjectId};
use domain::money::Money;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

/// What was charged and saved since an hour.
pub async fn sum_charges(
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
    .fetch_one(&shard.reads)
    .await?;
    Ok((Money(row.charged), Money(row.saved)))
}

/// Whether the project ever loaded cargo, and whether a callback was ever delivered.
pub async fn read_first_steps(shard: &Shard, project: ProjectId) -> Result<(bool, bool), Error> {
    let row = sqlx::query!(
        r#"select exists (select from shard.cargo where project = $1) as "loaded!",
               exists (select from shard.usage where project = $1 and event = 'delivered')
                   as "delivered!""#,
        project.uuid()
    )
    .fetch_one(&shard.reads)
    .await?;
    Ok((row.loaded, row.delivered))
}

/// Failures to search for those that are no cancellations.
const MAX_EXAMINED_FAILURES: i64 = 100;

/// The newest failures: the cargo, and the group of its error. Cancelled cargo is not among them.
pub async fn list_failures(
    shard: &Shard,
    project: ProjectId,
    since: CargoId,
    limit: u32,
) -> Result<Vec<(CargoId, String)>, Error> {
    let rows = sqlx::query!(
        "select cargo, label from (
             select cargo, label from shard.trouble
             where project = $1 and kind = 'failed' and cargo >= $2
             order by cargo desc limit $3
         ) newest
         where label <> 'cancelled' order by cargo desc limit $4",
        project.uuid(),
        since.uuid(),
        MAX_EXAMINED_FAILURES,
        i64::from(limit)
    )
    .fetch_all(&shard.reads)
    .await?;
    let found = rows.into_iter();
    Ok(found.map(|row| (row.cargo.into(), row.label)).collect())
}
