//! What recent cargo of a model used of its bounds, read from the rows of its hold and its outcome.
//!
//! Estimates need it now and then, so nothing is written for it when cargo ends.

use chrono::TimeDelta;
use domain::hold::Hold;
use domain::id::ProjectId;
use domain::load_estimate::{SettledCargo, UsageProfile};
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;

use crate::Error;
use crate::Shard;
use crate::number::unsigned;
use crate::shard::cargo_id_range::CargoIdRange;
use crate::shard::hold::HoldRow;

/// More samples make an estimate no better.
const MAX_SAMPLES: u64 = 500;
/// Rows of one project that are read in one range of time, of whatever model and state.
const MAX_ROWS_PER_RANGE: i64 = 1000;
/// The ranges end so many hours ago. The newest cargo of a project may all be in flight, so each
/// range is read from its end.
const RANGE_ENDS_HOURS: [i64; 7] = [0, 1, 6, 24, 72, 168, 720];

/// The profile of a model from recent cargo of these projects, the newest first.
pub async fn read_profile(
    shard: &Shard,
    projects: &[ProjectId],
    model: &str,
    now: Timestamp,
) -> Result<UsageProfile, Error> {
    let mut profile = UsageProfile::default();
    let starts = RANGE_ENDS_HOURS.iter().skip(1);
    for (end, start) in RANGE_ENDS_HOURS.iter().zip(starts) {
        let ago = |hours: i64| now - TimeDelta::hours(hours);
        let range = CargoIdRange::loaded_between(ago(*start), ago(*end));
        for project in projects {
            if profile.samples() >= MAX_SAMPLES {
                return Ok(profile);
            }
            for settled in list_settled(shard, *project, model, range).await? {
                profile.add(&settled);
            }
        }
    }
    Ok(profile)
}

/// Cargo of the range that succeeded, among the newest.
async fn list_settled(
    shard: &Shard,
    project: ProjectId,
    model: &str,
    range: CargoIdRange,
) -> Result<Vec<SettledCargo>, Error> {
    let rows = sqlx::query!(
        r#"select c.created_at as "created_at!", c.held as "held?",
               c.price_input as "price_input?", c.price_output as "price_output?",
               c.price_buckets as "price_buckets?", c.reserved_tokens as "reserved_tokens?",
               o.input_tokens as "input_tokens!", o.output_tokens as "output_tokens!",
               o.cached_tokens as "cached_tokens?", o.cache_write_tokens as "cache_write_tokens?",
               o.cache_write_1h_tokens as "cache_write_1h_tokens?",
               o.thinking_tokens as "thinking_tokens?"
           from (
               select id, model, success, created_at, held, price_input, price_output,
                   price_buckets, reserved_tokens
               from shard.cargo
               where project = $1 and id >= $2 and id < $3
               order by id desc limit $5
           ) c
           -- The range again, so that only its partitions are read.
           join shard.outcome o on o.cargo = c.id and o.cargo >= $2 and o.cargo < $3
           where c.model = $4 and c.success and c.price_input is not null"#,
        project.uuid(),
        range.first,
        range.beyond,
        model,
        MAX_ROWS_PER_RANGE
    )
    .fetch_all(&shard.reads)
    .await?;
    let settled = rows.into_iter().map(|row| {
        let hold = HoldRow {
            held: row.held,
            price_input: row.price_input,
            price_output: row.price_output,
            price_buckets: row.price_buckets,
            reserved_tokens: row.reserved_tokens,
        };
        let part = |tokens: Option<i64>| unsigned(tokens.unwrap_or_default());
        let parts = TokenBuckets {
            fresh: 0,
            cached: part(row.cached_tokens),
            cache_write: part(row.cache_write_tokens),
            cache_write_1h: part(row.cache_write_1h_tokens),
            output: unsigned(row.output_tokens),
            thinking: part(row.thinking_tokens),
        };
        Ok(SettledCargo {
            loaded_at: row.created_at,
            hold: Hold::try_from(hold)?,
            usage: TokenBuckets {
                fresh: unsigned(row.input_tokens).saturating_sub(parts.input_total()),
                ..parts
            },
        })
    });
    settled.collect()
}
