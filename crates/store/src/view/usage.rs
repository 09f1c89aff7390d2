//! What a project used, from the folded counts alone.

use chrono::NaiveDate;
use domain::id::{KeyId, ProjectId};
use domain::money::Money;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::number::unsigned;

/// A day (UTC) of one model and one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    pub day: NaiveDate,
    pub model: String,
    pub key: KeyId,
    pub loaded: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub charged: Money,
    pub realtime: Money,
    pub saved: Money,
}

/// Oldest day first, from an hour on; of one model, of one key, or of all.
pub async fn days(
    shard: &Shard,
    project: ProjectId,
    since: Timestamp,
    model: Option<&str>,
    key: Option<KeyId>,
) -> Result<Vec<Used>, Error> {
    let rows = sqlx::query!(
        r#"select (hour at time zone 'UTC')::date as "day!", model, api_key,
               coalesce(sum(count) filter (where event = 'loaded'), 0)::bigint as "loaded!",
               coalesce(sum(count) filter (where event = 'succeeded'), 0)::bigint as "succeeded!",
               coalesce(sum(count) filter (where event = 'failed'), 0)::bigint as "failed!",
               sum(input_tokens)::bigint as "input_tokens!",
               sum(output_tokens)::bigint as "output_tokens!", sum(money)::bigint as "charged!",
               sum(realtime)::bigint as "realtime!", sum(saved)::bigint as "saved!"
           from shard.usage
           where project = $1 and hour >= $2 and event in ('loaded', 'succeeded', 'failed')
               and ($3::text is null or model = $3) and ($4::uuid is null or api_key = $4)
           group by 1, 2, 3 order by 1, 2, 3"#,
        project.uuid(),
        since,
        model,
        key.map(KeyId::uuid)
    )
    .fetch_all(&shard.reads)
    .await?;
    let used = rows.into_iter().map(|row| Used {
        day: row.day,
        model: row.model,
        key: row.api_key.into(),
        loaded: unsigned(row.loaded),
        succeeded: unsigned(row.succeeded),
        failed: unsigned(row.failed),
        input_tokens: unsigned(row.input_tokens),
        output_tokens: unsigned(row.output_tokens),
        charged: Money(row.charged),
        realtime: Money(row.realtime),
        saved: Money(row.saved),
    });
    Ok(used.collect())
}

/// What happened in an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hour {
    pub hour: Timestamp,
    pub loaded: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub delivered: u64,
    pub given_up: u64,
    pub charged: Money,
    pub saved: Money,
}

/// Oldest first; hours in which nothing happened are left out.
pub async fn hours(
    shard: &Shard,
    project: ProjectId,
    since: Timestamp,
) -> Result<Vec<Hour>, Error> {
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
    let hours = rows.into_iter().map(|row| Hour {
        hour: row.hour,
        loaded: unsigned(row.loaded),
        succeeded: unsigned(row.succeeded),
        failed: unsigned(row.failed),
        delivered: unsigned(row.delivered),
        given_up: unsigned(row.given_up),
        charged: Money(row.charged),
        saved: Money(row.saved),
    });
    Ok(hours.collect())
}
