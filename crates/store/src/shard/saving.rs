//! What batch prices saved compared with realtime prices, and what providers billed us, read from
//! the usage counts.

use domain::id::ProjectId;
use domain::money::Money;
use domain::saving::Saving;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

/// The savings of one project and model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSavings {
    pub project: ProjectId,
    pub model: String,
    /// How many succeeded.
    pub cargo: u64,
    pub charged: Money,
    /// What providers billed us, for failures too; zero if that is not known.
    pub cost: Money,
    /// Of cargo whose realtime price was known.
    pub saving: Saving,
}

/// Since an hour, of some projects or of all. Cargo that was free for callers and for us is left out.
pub async fn list(
    shard: &Shard,
    projects: Option<&[ProjectId]>,
    since: Option<Timestamp>,
) -> Result<Vec<ModelSavings>, Error> {
    let projects: Option<Vec<Uuid>> =
        projects.map(|projects| projects.iter().map(|project| project.uuid()).collect());
    let rows = sqlx::query!(
        // One statement reads one snapshot, so a count that is folded meanwhile is read once.
        r#"with counted as (
               select project, model, event, hour, count, money, realtime, saved, cost
               from shard.usage
               where ($1::uuid[] is null or project = any($1))
               union all
               select entry.project, entry.model, entry.event, delta.hour, entry.count,
                   entry.money, entry.realtime, entry.saved, entry.cost
               from shard.usage_delta delta,
                   unnest(delta.project, delta.model, delta.event, delta.count, delta.money,
                       delta.realtime, delta.saved, delta.cost)
                   as entry (project, model, event, count, money, realtime, saved, cost)
               where ($1::uuid[] is null or entry.project = any($1))
           )
           select project as "project!", model as "model!",
               coalesce(sum(count) filter (where event = 'succeeded'), 0)::bigint as "cargo!",
               coalesce(sum(money), 0)::bigint as "charged!",
               coalesce(sum(realtime), 0)::bigint as "realtime!",
               coalesce(sum(saved), 0)::bigint as "saved!",
               coalesce(sum(cost), 0)::bigint as "cost!"
           from counted
           where event in ('succeeded', 'failed') and ($2::timestamptz is null or hour >= $2)
           group by project, model
           having sum(money) > 0 or sum(realtime) > 0 or sum(cost) > 0
           order by project, model"#,
        projects.as_deref(),
        since
    )
    .fetch_all(&shard.pool)
    .await?;
    let saved = rows.into_iter().map(|row| ModelSavings {
        project: row.project.into(),
        model: row.model,
        cargo: u64::try_from(row.cargo).unwrap_or_default(),
        charged: Money(row.charged),
        cost: Money(row.cost),
        saving: Saving {
            realtime: Money(row.realtime),
            saved: Money(row.saved),
        },
    });
    Ok(saved.collect())
}
