//! The balance page: what an organization spent, read from the folded counts only.

use chrono::NaiveDate;
use domain::id::ProjectId;
use domain::money::Money;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

/// Charges by day (UTC) and project since an hour, oldest first. Days without charges are left out.
pub async fn list_daily_charges(
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
