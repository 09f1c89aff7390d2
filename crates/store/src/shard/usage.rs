//! Usage counts: appended once per group, folded by sweep, shown on the dashboard.

use domain::id::CargoId;
use domain::time::{Timestamp, start_of_hour};
use domain::usage::{UsageSum, UsageTally};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::number::signed;

/// A tally as the columns of one row.
#[derive(Debug, Default)]
pub(crate) struct UsageDelta {
    pub(crate) hour: Timestamp,
    pub(crate) project: Vec<Uuid>,
    pub(crate) api_key: Vec<Uuid>,
    pub(crate) model: Vec<String>,
    pub(crate) event: Vec<String>,
    pub(crate) count: Vec<i64>,
    pub(crate) input_tokens: Vec<i64>,
    pub(crate) output_tokens: Vec<i64>,
    pub(crate) cached_tokens: Vec<i64>,
    pub(crate) cache_write_tokens: Vec<i64>,
    pub(crate) thinking_tokens: Vec<i64>,
    pub(crate) money: Vec<i64>,
    pub(crate) cost: Vec<i64>,
    pub(crate) realtime: Vec<i64>,
    pub(crate) saved: Vec<i64>,
}

impl UsageDelta {
    pub(crate) fn of(tally: &UsageTally, now: Timestamp) -> Self {
        let mut delta = Self {
            hour: start_of_hour(now),
            ..Self::default()
        };
        for (
            what,
            UsageSum {
                count,
                amounts: work,
            },
        ) in tally.iter()
        {
            delta.project.push(what.project.uuid());
            delta.api_key.push(what.key.uuid());
            delta.model.push(what.model.clone());
            delta.event.push(what.event.as_str().to_owned());
            delta.count.push(signed(count));
            delta.input_tokens.push(signed(work.usage.input_total()));
            delta.output_tokens.push(signed(work.usage.output));
            delta.cached_tokens.push(signed(work.usage.cached));
            delta.cache_write_tokens.push(signed(work.usage.written()));
            delta.thinking_tokens.push(signed(work.usage.thinking));
            delta.money.push(work.charged.nanos());
            delta.cost.push(work.cost.nanos());
            delta.realtime.push(work.saving.realtime.nanos());
            delta.saved.push(work.saving.saved.nanos());
        }
        delta
    }
}

/// Appends the counts of a group and, for the audit, the cargo that it completed.
pub(crate) async fn append(
    tx: &mut Transaction,
    tally: &UsageTally,
    completed: &[CargoId],
    now: Timestamp,
) -> Result<(), Error> {
    if tally.is_empty() {
        return Ok(());
    }
    let delta = UsageDelta::of(tally, now);
    let completed: Vec<Uuid> = completed.iter().map(|cargo| cargo.uuid()).collect();
    sqlx::query!(
        "with completed as (
             insert into shard.unaudited (cargo)
             select $16::uuid[] where cardinality($16::uuid[]) > 0
         )
         insert into shard.usage_delta
             (hour, project, api_key, model, event, count, input_tokens, output_tokens, money,
              realtime, saved, cached_tokens, cache_write_tokens, thinking_tokens, cost)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        delta.hour,
        &delta.project,
        &delta.api_key,
        &delta.model,
        &delta.event,
        &delta.count,
        &delta.input_tokens,
        &delta.output_tokens,
        &delta.money,
        &delta.realtime,
        &delta.saved,
        &delta.cached_tokens,
        &delta.cache_write_tokens,
        &delta.thinking_tokens,
        &delta.cost,
        &completed,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Folds at most `most` rows with ids after `after` into the sums.
///
/// Any number of nodes may fold: rows that another node has locked are skipped.
pub async fn fold(shard: &Shard, after: i64, most: i64) -> Result<u64, Error> {
    let folded = sqlx::query_scalar!(
        r#"with gone as (
               delete from shard.usage_delta
               where id in (select id from shard.usage_delta where id > $2 order by id limit $1
                            for update skip locked)
               returning *
           ), sums as (
               select gone.hour, entry.project, entry.api_key, entry.model, entry.event,
                   sum(entry.count)::bigint as count,
                   sum(entry.input_tokens)::bigint as input_tokens,
                   sum(entry.output_tokens)::bigint as output_tokens,
                   coalesce(sum(entry.money), 0)::bigint as money,
                   coalesce(sum(entry.realtime), 0)::bigint as realtime,
                   coalesce(sum(entry.saved), 0)::bigint as saved,
                   coalesce(sum(entry.cached_tokens), 0)::bigint as cached_tokens,
                   coalesce(sum(entry.cache_write_tokens), 0)::bigint as cache_write_tokens,
                   coalesce(sum(entry.thinking_tokens), 0)::bigint as thinking_tokens,
                   coalesce(sum(entry.cost), 0)::bigint as cost
               from gone, unnest(gone.project, gone.api_key, gone.model, gone.event, gone.count,
                       gone.input_tokens, gone.output_tokens, gone.money, gone.realtime, gone.saved,
                       gone.cached_tokens, gone.cache_write_tokens, gone.thinking_tokens, gone.cost)
                   as entry (project, api_key, model, event, count, input_tokens, output_tokens,
                       money, realtime, saved, cached_tokens, cache_write_tokens, thinking_tokens,
                       cost)
               group by 1, 2, 3, 4, 5
               -- Two folders lock the sums in the same order.
               order by 2, 1, 3, 4, 5
           ), folded as (
               insert into shard.usage
                   (hour, project, api_key, model, event, count, input_tokens, output_tokens, money,
                    realtime, saved, cached_tokens, cache_write_tokens, thinking_tokens, cost)
               select * from sums
               on conflict (project, hour, api_key, model, event) do update
                   set count = usage.count + excluded.count,
                       input_tokens = usage.input_tokens + excluded.input_tokens,
                       output_tokens = usage.output_tokens + excluded.output_tokens,
                       money = usage.money + excluded.money,
                       realtime = usage.realtime + excluded.realtime,
                       saved = usage.saved + excluded.saved,
                       cached_tokens = usage.cached_tokens + excluded.cached_tokens,
                       cache_write_tokens = usage.cache_write_tokens + excluded.cache_write_tokens,
                       thinking_tokens = usage.thinking_tokens + excluded.thinking_tokens,
                       cost = usage.cost + excluded.cost
           )
           select count(*) as "count!" from gone"#,
        most,
        after
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(u64::try_from(folded).unwrap_or_default())
}
