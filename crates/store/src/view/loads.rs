//! Counts of loads and their results, read from the folded counts: for charts and for filters.

use std::collections::BTreeMap;

use domain::id::{ApiKeyId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

/// A period, and which loads to count. The hour in which the period begins is counted completely.
#[derive(Debug, Clone, Copy)]
pub struct LoadFilter<'a> {
    pub project: ProjectId,
    pub from: Timestamp,
    /// Exclusive.
    pub to: Timestamp,
    pub model: Option<&'a str>,
    pub key: Option<ApiKeyId>,
}

/// The counts of one hour or day, for the model and key of the filter.
#[derive(Debug, Clone, Default)]
pub struct LoadCounts {
    pub models: BTreeMap<String, u64>,
    pub events: BTreeMap<String, u64>,
}

/// Counts by hour or day.
#[derive(Debug, Clone, Default)]
pub struct LoadChart {
    pub columns: BTreeMap<Timestamp, LoadCounts>,
}

/// The values that a filter can have, the most frequent first.
#[derive(Debug, Clone, Default)]
pub struct LoadFilterChoices {
    /// Counted for the key of the filter.
    pub models: Vec<(String, u64)>,
    /// Counted for the model of the filter.
    pub keys: Vec<(ApiKeyId, u64)>,
    /// Counted for both.
    pub events: BTreeMap<String, u64>,
}

/// Per hour, or per day (UTC).
pub async fn count_by_period(
    shard: &Shard,
    filter: LoadFilter<'_>,
    per_day: bool,
) -> Result<LoadChart, Error> {
    let unit = if per_day { "day" } else { "hour" };
    let rows = sqlx::query!(
        r#"select date_trunc($1, hour, 'UTC') as "at!", model as "model?", event as "event!",
               sum(count)::bigint as "count!"
           from shard.usage
           where project = $2 and hour > $3::timestamptz - interval '1 hour' and hour < $4
               and ($5::text is null or model = $5) and ($6::uuid is null or api_key = $6)
           group by grouping sets ((1, event), (1, event, model))
           having event = 'loaded' or grouping(model) = 1"#,
        unit,
        filter.project.uuid(),
        filter.from,
        filter.to,
        filter.model,
        filter.key.map(ApiKeyId::uuid)
    )
    .fetch_all(&shard.reads)
    .await?;
    let mut loads = LoadChart::default();
    for row in rows {
        let column = loads.columns.entry(row.at).or_default();
        let count = u64::try_from(row.count).unwrap_or_default();
        match row.model {
            Some(model) => column.models.insert(model, count),
            None => column.events.insert(row.event, count),
        };
    }
    Ok(loads)
}

pub async fn list_choices(
    shard: &Shard,
    filter: LoadFilter<'_>,
) -> Result<LoadFilterChoices, Error> {
    let rows = sqlx::query!(
        r#"select model as "model?", api_key as "key?", event as "event?",
               coalesce(sum(count) filter (where event = 'loaded'
                   and ($4::uuid is null or api_key = $4)), 0)::bigint as "of_key!",
               coalesce(sum(count) filter (where event = 'loaded'
                   and ($5::text is null or model = $5)), 0)::bigint as "of_model!",
               coalesce(sum(count) filter (where ($4::uuid is null or api_key = $4)
                   and ($5::text is null or model = $5)), 0)::bigint as "of_both!"
           from shard.usage where project = $1 and hour > $2::timestamptz - interval '1 hour' and hour < $3
           group by grouping sets ((model), (api_key), (event))"#,
        filter.project.uuid(),
        filter.from,
        filter.to,
        filter.key.map(ApiKeyId::uuid),
        filter.model
    )
    .fetch_all(&shard.reads)
    .await?;
    let count = |count: i64| u64::try_from(count).unwrap_or_default();
    let mut choices = LoadFilterChoices::default();
    for row in rows {
        match (row.model, row.key, row.event) {
            (Some(model), _, _) => choices.models.push((model, count(row.of_key))),
            (None, Some(key), _) => choices.keys.push((key.into(), count(row.of_model))),
            (None, None, Some(event)) => {
                choices.events.insert(event, count(row.of_both));
            }
            (None, None, None) => {}
        }
    }
    choices.models.retain(|(_, loads)| *loads > 0);
    choices.keys.retain(|(_, loads)| *loads > 0);
    choices
        .models
        .sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    choices
        .keys
        .sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.uuid().cmp(&b.0.uuid())));
    Ok(choices)
}

/// An hour with loads: how many, and how many of them match the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadHour {
    pub at: Timestamp,
    pub total: u64,
    pub matching: u64,
}

/// The hours of a period, newest first.
pub async fn count_by_hour(
    shard: &Shard,
    filter: LoadFilter<'_>,
    most: u32,
) -> Result<Vec<LoadHour>, Error> {
    let rows = sqlx::query!(
        r#"select hour as "at!", sum(count)::bigint as "all!",
               coalesce(sum(count) filter (where ($4::text is null or model = $4)
                   and ($5::uuid is null or api_key = $5)), 0)::bigint as "meant!"
           from shard.usage
           where project = $1 and hour > $2::timestamptz - interval '1 hour' and hour < $3 and event = 'loaded'
           group by hour order by hour desc limit $6"#,
        filter.project.uuid(),
        filter.from,
        filter.to,
        filter.model,
        filter.key.map(ApiKeyId::uuid),
        i64::from(most)
    )
    .fetch_all(&shard.reads)
    .await?;
    let hours = rows.into_iter().map(|row| LoadHour {
        at: row.at,
        total: u64::try_from(row.all).unwrap_or_default(),
        matching: u64::try_from(row.meant).unwrap_or_default(),
    });
    Ok(hours.collect())
}
