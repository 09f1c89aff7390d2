//! Gathering from a backlog of millions, beside one of thousands.

use std::time::Instant;

use serde_json::Value;
use sqlx::PgConnection;

use crate::bench::account::Parties;
use crate::bench::backlog::Backlog;
use crate::failure::{During as _, Failure, Result};
use crate::figures::{median, rounded, spread};
use crate::options::{Common, GatherOptions};
use crate::progress::say;
use crate::stand::{BENCH_MEMORY, SHARD, Stand};
use crate::verdict::Verdict;

const MODEL: &str = "svc-mock";
const SMALL: i64 = 10_000;
/// Cargo per gather.
const ITEMS: i64 = 1000;
const MEASURED: usize = 50;
/// The first gathers of a process plan their queries and are not counted on either side.
const WARMING: usize = 5;
/// The small backlog is filled up again after so many counted gathers.
const BETWEEN_FILLS: usize = 5;
const LOOKUPS: usize = 2000;
const MOST_RATIO: f64 = 1.3;

/// Milliseconds of every measurement.
#[derive(Debug, Default)]
struct Times {
    small: Vec<f64>,
    large: Vec<f64>,
    after: Vec<f64>,
    tracking_small: Vec<f64>,
    tracking_large: Vec<f64>,
    gathered: i64,
    waiting: i64,
    /// The share of the machine that others had while the large backlog was measured.
    strangers: f64,
}

pub async fn run(common: &Common, options: &GatherOptions) -> Result<Verdict> {
    let stand = Stand::build(common, BENCH_MEMORY).await?;
    let connection = stand.postgres.connect(SHARD).await?;
    let mut backlog = Backlog::prepare(connection, MODEL, options.organizations).await?;
    let mut times = Times::default();
    say(format!("{SMALL} waiting"));
    backlog.fill(SMALL).await?;
    backlog.analyze().await?;
    times.tracking_small = tracked(&stand).await?;
    // When counting begins, so many wait as are to be compared with.
    let uncounted = ITEMS * i64::try_from(WARMING).unwrap_or_default();
    backlog.fill(uncounted).await?;
    while times.small.len() < MEASURED {
        let (gathered, milliseconds) = gathered(&stand, BETWEEN_FILLS).await?;
        times.small.extend(milliseconds);
        backlog.fill(gathered).await?;
    }

    say(format!("{} waiting", options.waiting));
    let begun = Instant::now();
    backlog.fill(options.waiting).await?;
    backlog.analyze().await?;
    times.waiting = backlog.waiting().await?;
    say(format!("filled in {} s", begun.elapsed().as_secs()));
    let open = left_open(&stand).await?;
    backlog.rest().await?;
    let parties = Parties {
        postgres: stand.postgres.pid(),
        ..Parties::default()
    };
    let meters = parties.read()?;
    times.tracking_large = tracked(&stand).await?;
    let before = usize::try_from(options.gathered / ITEMS).unwrap_or_default();
    let (gathered, milliseconds) = gathered(&stand, before + MEASURED).await?;
    times.gathered = gathered;
    times.large = milliseconds.iter().copied().take(MEASURED).collect();
    times.after = milliseconds.iter().copied().rev().take(MEASURED).collect();
    times.strangers = meters.until(parties.read()?).strangers();
    drop(open);
    Ok(judged(&stand, options, times))
}

fn judged(stand: &Stand, options: &GatherOptions, mut times: Times) -> Verdict {
    let ratio = |larger: &mut [f64], smaller: &mut [f64]| {
        Some(median(larger)? / median(smaller)?.max(f64::MIN_POSITIVE))
    };
    let large = ratio(&mut times.large, &mut times.small);
    let after = ratio(&mut times.after, &mut times.small);
    let tracking = ratio(&mut times.tracking_large, &mut times.tracking_small);
    let mut verdict = Verdict::new("bench gather");
    for (name, value) in [
        ("ratio", large),
        ("ratio_after", after),
        ("ratio_tracking", tracking),
    ] {
        verdict.note(name, value.map(|value| rounded(value, 2)));
        let held = value.is_some_and(|value| value <= MOST_RATIO);
        verdict.promise(format!("{name} at most 1.3"), held);
    }
    let all_gathered = times.gathered >= options.gathered;
    verdict
        .note("small_milliseconds", spread(&mut times.small))
        .note("large_milliseconds", spread(&mut times.large))
        .note("after_milliseconds", spread(&mut times.after))
        .note(
            "tracking_small_milliseconds",
            spread(&mut times.tracking_small),
        )
        .note(
            "tracking_large_milliseconds",
            spread(&mut times.tracking_large),
        )
        .note("waiting", times.waiting)
        .note("gathered", times.gathered)
        .note("organizations", options.organizations)
        .note("strangers", rounded(times.strangers, 3))
        .note("settings", stand.postgres.settings())
        .promise("as many gathered as asked", all_gathered);
    verdict
}

/// The snapshot of a transaction that nobody ends: what it may still see cannot be cleared away.
async fn left_open(stand: &Stand) -> Result<PgConnection> {
    let mut connection = stand.postgres.connect(SHARD).await?;
    let begin = "begin isolation level repeatable read; select from shard.waiting limit 1";
    sqlx::raw_sql(begin)
        .execute(&mut connection)
        .await
        .during("opening a transaction")?;
    Ok(connection)
}

/// Runs the service's own gather stage so many times once it is warm: how many were gathered
/// in all, and the counted times.
async fn gathered(stand: &Stand, counted: usize) -> Result<(i64, Vec<f64>)> {
    let (count, items) = ((WARMING + counted).to_string(), ITEMS.to_string());
    let verb = [
        "trial", "gather", "--count", &count, "--items", &items, "--lane", MODEL,
    ];
    let said = said(stand, &verb).await?;
    let gathered = said.get("gathered").and_then(Value::as_i64);
    let gathered = gathered.ok_or_else(|| Failure::new(format!("no count in {said}")))?;
    Ok((
        gathered,
        milliseconds(&said)?.into_iter().skip(WARMING).collect(),
    ))
}

async fn tracked(stand: &Stand) -> Result<Vec<f64>> {
    let count = LOOKUPS.to_string();
    milliseconds(&said(stand, &["trial", "tracking", "--count", &count]).await?)
}

async fn said(stand: &Stand, verb: &[&str]) -> Result<Value> {
    let output = stand.longshored.run(verb).await?;
    let line = output.lines().last().unwrap_or_default();
    serde_json::from_str(line).during(format!("reading the answer to {}", verb.join(" ")))
}

fn milliseconds(said: &Value) -> Result<Vec<f64>> {
    let times = said.get("milliseconds").and_then(Value::as_array);
    let times = times.ok_or_else(|| Failure::new(format!("no times in {said}")))?;
    Ok(times.iter().filter_map(Value::as_f64).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_read_from_the_services_answer() {
        let said = json!({"milliseconds": [1.5, 2], "gathered": 2000});
        assert_eq!(milliseconds(&said).unwrap(), [1.5, 2.0]);
        assert!(milliseconds(&json!({})).is_err());
    }
}
