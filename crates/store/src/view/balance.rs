//! What an organization spent, from the folded counts alone.

use chrono::NaiveDate;
use domain::id::ProjectId;
use domain::money::Money;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

/// By day (UTC) and project, from an hour on, oldest first; days of nothing are left out.
pub async fn spent(
    shard: &Shard,
    projects: &[ProjectId],
    since: Timestamp,
) -> Result<Vec<(NaiveDate, ProjectId, Money)>, Error> {
    let projects: Vec<Uuid> = projects.iter().map(|project| project.uuid()).collect();
    let rows = sqlx::query!(
        r#"select (hour at time zone 'UTC')::date as "day!", project, sum(money)::bigint as "money!"
           from shard.usage
           where project = any($1) and hour >= $2 and event = 'succeeded' and money <> 0
           group by 1, 2 order by 1, 2"#,
        &projects,
        since
    )
    .fetch_all(&shard.reads)
    .await?;
    let spent = rows.into_iter();
    Ok(spent
        .map(|row| (row.day, row.project.into(), Money(row.money)))
        .collect())
}
