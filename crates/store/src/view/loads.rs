//! How much was loaded and what became of it, from the folded counts: for a picture, and to choose by.

use std::collections::BTreeMap;

use domain::id::{KeyId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

/// A time, and what of it is meant. The hour in which it begins counts whole.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub project: ProjectId,
    pub from: Timestamp,
    /// The first moment after.
    pub to: Timestamp,
    pub model: Option<&'a str>,
    pub key: Option<KeyId>,
}

/// Sums of one hour or day: of the model and the key that were asked for.
#[derive(Debug, Clone, Default)]
pub struct Column {
    pub models: BTreeMap<String, u64>,
    pub events: BTreeMap<String, u64>,
}

/// The most that pictures and choices show.
#[derive(Debug, Clone, Default)]
pub struct Loads {
    pub columns: BTreeMap<Timestamp, Column>,
}

/// What there is to choose from, most first.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// Loads of the key that was asked for.
    pub models: Vec<(String, u64)>,
    /// Loads of the model that was asked for.
    pub keys: Vec<(KeyId, u64)>,
    /// Of both.
    pub events: BTreeMap<String, u64>,
}

/// Per hour, or per day (UTC).
pub async fn columns(shard: &Shard, asked: Asked<'_>, per_day: bool) -> Result<Loads, Error> {
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
        asked.project.uuid(),
        asked.from,
        asked.to,
        asked.model,
        asked.key.map(KeyId::uuid)
    )
    .fetch_all(&shard.reads)
    .await?;
    let mut loads = Loads::default();
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

pub async fn choices(shard: &Shard, asked: Asked<'_>) -> Result<Choices, Error> {
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
        asked.project.uuid(),
        asked.from,
        asked.to,
        asked.key.map(KeyId::uuid),
        asked.model
    )
    .fetch_all(&shard.reads)
    .await?;
    let count = |count: i64| u64::try_from(count).unwrap_or_default();
    let mut choices = Choices::default();
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

/// An hour in which something was loaded: how much, and how much of it is what is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hour {
    pub at: Timestamp,
    pub all: u64,
    pub meant: u64,
}

/// The hours of a time, newest first.
pub async fn hours(shard: &Shard, asked: Asked<'_>, most: u32) -> Result<Vec<Hour>, Error> {
    let rows = sqlx::query!(
        r#"select hour as "at!", sum(count)::bigint as "all!",
               coalesce(sum(count) filter (where ($4::text is null or model = $4)
                   and ($5::uuid is null or api_key = $5)), 0)::bigint as "meant!"
           from shard.usage
           where project = $1 and hour > $2::timestamptz - interval '1 hour' and hour < $3 and event = 'loaded'
           group by hour order by hour desc limit $6"#,
        asked.project.uuid(),
        asked.from,
        asked.to,
        asked.model,
        asked.key.map(KeyId::uuid),
        i64::from(most)
    )
    .fetch_all(&shard.reads)
    .await?;
    let hours = rows.into_iter().map(|row| Hour {
        at: row.at,
        all: u64::try_from(row.all).unwrap_or_default(),
        meant: u64::try_from(row.meant).unwrap_or_default(),
    });
    Ok(hours.collect())
}
