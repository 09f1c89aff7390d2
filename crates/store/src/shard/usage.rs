//! Usage counts: appended once per group, folded by sweep, shown on the dashboard.

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
    pub(crate) money: Vec<i64>,
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
            delta.input_tokens.push(signed(work.usage.input_tokens));
            delta.output_tokens.push(signed(work.usage.output_tokens));
            delta.money.push(work.charged.nanos());
            delta.realtime.push(work.saving.realtime.nanos());
            delta.saved.push(work.saving.saved.nanos());
        }
        delta
    }
}

pub async fn append(tx: &mut Transaction, tally: &UsageTally, now: Timestamp) -> Result<(), Error> {
    if tally.is_empty() {
        return Ok(());
    }
    let delta = UsageDelta::of(tally, now);
    sqlx::query!(
        "insert into shard.usage_delta
             (hour, project, api_key, model, event, count, input_tokens, output_tokens, money,
              realtime, saved)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
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
                   coalesce(sum(entry.saved), 0)::bigint as saved
               from gone, unnest(gone.project, gone.api_key, gone.model, gone.event, gone.count,
                       gone.input_tokens, gone.output_tokens, gone.money, gone.realtime, gone.saved)
                   as entry (project, api_key, model, event, count, input_tokens, output_tokens,
                       money, realtime, saved)
               group by 1, 2, 3, 4, 5
               -- Two folders lock the sums in the same order.
               order by 2, 1, 3, 4, 5
           ), folded as (
               insert into shard.usage
                   (hour, project, api_key, model, event, count, input_tokens, output_tokens, money,
                    realtime, saved)
               select * from sums
               on conflict (project, hour, api_key, model, event) do update
                   set count = usage.count + excluded.count,
                       input_tokens = usage.input_tokens + excluded.input_tokens,
                       output_tokens = usage.output_tokens + excluded.output_tokens,
                       money = usage.money + excluded.money,
                       realtime = usage.realtime + excluded.realtime,
                       saved = usage.saved + excluded.saved
           )
           select count(*) as "count!" from gone"#,
        most,
        after
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(u64::try_from(folded).unwrap_or_default())
}
