//! The usage page: what a project used, read from the folded counts only.

use chrono::NaiveDate;
use domain::id::{ApiKeyId, ProjectId};
use domain::money::Money;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::number::unsigned;

/// The usage of one day (UTC), model and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DailyUsage {
    pub day: NaiveDate,
    pub model: String,
    pub key: ApiKeyId,
    pub loaded: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub input_tokens: u64,
    /// The part of the input that was read from a cache, and the part that was written to one.
    pub cached_tokens: u64,
    pub cache_write_tokens: u64,
    pub output_tokens: u64,
    /// The part of the output that was thoughts.
    pub thinking_tokens: u64,
    pub charged: Money,
    pub realtime: Money,
    pub saved: Money,
}

/// Since an hour, oldest day first; of one model, of one key, or of all.
pub async fn list_daily(
    shard: &Shard,
    project: ProjectId,
    since: Timestamp,
    model: Option<&str>,
    key: Option<ApiKeyId>,
) -> Result<Vec<DailyUsage>, Error> {
    let rows = sqlx::query!(
        r#"select (hour at time zone 'UTC')::date as "day!", model, api_key,
               coalesce(sum(count) filter (where event = 'loaded'), 0)::bigint as "loaded!",
               coalesce(sum(count) filter (where event = 'succeeded'), 0)::bigint as "succeeded!",
               coalesce(sum(count) filter (where event = 'failed'), 0)::bigint as "failed!",
               sum(input_tokens)::bigint as "input_tokens!",
               sum(cached_tokens)::bigint as "cached_tokens!",
               sum(cache_write_tokens)::bigint as "cache_write_tokens!",
               sum(thinking_tokens)::bigint as "thinking_tokens!",
               sum(output_tokens)::bigint as "output_tokens!", sum(money)::bigint as "charged!",
               sum(realtime)::bigint as "realtime!", sum(saved)::bigint as "saved!"
           from shard.usage
           where project = $1 and hour >= $2 and event in ('loaded', 'succeeded', 'failed')
               and ($3::text is null or model = $3) and ($4::uuid is null or api_key = $4)
           group by 1, 2, 3 order by 1, 2, 3"#,
        project.uuid(),
        since,
        model,
        key.map(ApiKeyId::uuid)
    )
    .fetch_all(&shard.reads)
    .await?;
    let used = rows.into_iter().map(|row| DailyUsage {
        day: row.day,
        model: row.model,
        key: row.api_key.into(),
        loaded: unsigned(row.loaded),
        succeeded: unsigned(row.succeeded),
        failed: unsigned(row.failed),
        input_tokens: unsigned(row.input_tokens),
        cached_tokens: unsigned(row.cached_tokens),
        cache_write_tokens: unsigned(row.cache_write_tokens),
        thinking_tokens: unsigned(row.thinking_tokens),
        output_tokens: unsigned(row.output_tokens),
        charged: Money(row.charged),
        realtime: Money(row.realtime),
        saved: Money(row.saved),
    });
    Ok(used.collect())
}

/// What each key of a project was charged since an hour.
pub async fn sum_charges_by_key(
    shard: &Shard,
    project: ProjectId,
    since: Timestamp,
) -> Result<Vec<(ApiKeyId, Money)>, Error> {
    let rows = sqlx::query!(
        r#"select api_key, sum(money)::bigint as "charged!" from shard.usage
           where project = $1 and hour >= $2 and event = 'succeeded' group by api_key"#,
        project.uuid(),
        since
    )
    .fetch_all(&shard.reads)
    .await?;
    let charges = rows.into_iter();
    Ok(charges
        .map(|row| (row.api_key.into(), Money(row.charged)))
        .collect())
}

/// The usage of one hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HourlyUsage {
    pub hour: Timestamp,
    pub loaded: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub delivered: u64,
    pub callbacks_failed: u64,
    pub charged: Money,
    pub saved: Money,
}

/// Oldest first. Hours without events are left out.
pub async fn list_hourly(
    shard: &Shard,
    project: ProjectId,
    since: Timestamp,
) -> Result<Vec<HourlyUsage>, Error> {
    let rows = sqlx::query!(
        r#"select hour,
               coalesce(sum(count) filter (where event = 'loaded'), 0)::bigint as "loaded!",
               coalesce(sum(count) filter (where event = 'succeeded'), 0)::bigint as "succeeded!",
               coalesce(sum(count) filter (where event = 'failed'), 0)::bigint as "failed!",
               coalesce(sum(count) filter (where event = 'delivered'), 0)::bigint as "delivered!",
               coalesce(sum(count) filter (where event = 'callback_failed'), 0)::bigint
                   as "given_up!",
               sum(money)::bigint as "charged!", sum(saved)::bigint as "saved!"
           from shard.usage where project = $1 and hour >= $2 group by hour order by hour"#,
        project.uuid(),
        since
    )
    .fetch_all(&shard.reads)
    .await?;
    let hours = rows.into_iter().map(|row| HourlyUsage {
        hour: row.hour,
        loaded: unsigned(row.loaded),
        succeeded: unsigned(row.succeeded),
        failed: unsigned(row.failed),
        delivered: unsigned(row.delivered),
        callbacks_failed: unsigned(row.given_up),
        charged: Money(row.charged),
        saved: Money(row.saved),
    });
    Ok(hours.collect())
}
