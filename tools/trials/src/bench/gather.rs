//! Gathering from a backlog of millions, compared with one of thousands.

use std::time::Instant;

use serde_json::Value;
use sqlx::PgConnection;

use crate::bench::backlog::WaitingBacklog;
use crate::harness::servers::postgres;
use crate::harness::{
    BENCH_MEMORY, BaseEnvironment, DatabaseLayout, FailureContext as _, MeasuredProcesses, Result,
    SHARD, TrialVerdict, judge, median, report_progress, round_to, summarize,
};
use crate::options::{BenchGatherOptions, CommonOptions};

const MODEL: &str = "svc-mock";
const SMALL_BACKLOG: i64 = 10_000;
const CARGO_PER_GATHER: i64 = 1000;
/// The first gathers of a process plan their queries and are never counted.
const WARM_UP_GATHERS: usize = 5;
/// The bench refills the small backlog after this many counted gathers.
const GATHERS_BETWEEN_FILLS: usize = 5;
const LOOKUPS_PER_MEASURED_GATHER: usize = 40;
const MAX_RATIO: f64 = 1.3;

/// Milliseconds of every measurement.
#[derive(Debug, Default)]
struct GatherTimes {
    small: Vec<f64>,
    large: Vec<f64>,
    after: Vec<f64>,
    tracking_small: Vec<f64>,
    tracking_large: Vec<f64>,
    gathered: i64,
    waiting: i64,
    /// The share of the machine that other processes used while the large backlog was measured.
    other_processes: f64,
}

pub async fn run(common: &CommonOptions, options: &BenchGatherOptions) -> Result<TrialVerdict> {
    let environment =
        BaseEnvironment::build(common, DatabaseLayout::SingleShard, BENCH_MEMORY).await?;
    let connection = environment.database_server()?.connect(SHARD).await?;
    let mut backlog = WaitingBacklog::prepare(connection, MODEL, options.organizations).await?;
    let mut times = GatherTimes::default();
    report_progress(format!("{SMALL_BACKLOG} cargo waiting"));
    backlog.add_waiting(SMALL_BACKLOG).await?;
    backlog.analyze().await?;
    let lookups = options.gathers * LOOKUPS_PER_MEASURED_GATHER;
    times.tracking_small = measure_tracking(&environment, lookups).await?;
    // The warm-up takes these away, so that counting starts with the small backlog. Each batch takes
    // one cargo of a thousand organizations, as batches of the large backlog do.
    let uncounted = CARGO_PER_GATHER * i64::try_from(WARM_UP_GATHERS).unwrap_or_default();
    backlog.add_waiting_of_others(uncounted).await?;
    while times.small.len() < options.gathers {
        let (gathered, milliseconds) = measure_gathers(&environment, GATHERS_BETWEEN_FILLS).await?;
        times.small.extend(milliseconds);
        backlog.add_waiting_of_others(gathered).await?;
    }

    report_progress(format!("{} cargo waiting", options.waiting));
    let begun = Instant::now();
    backlog.add_waiting(options.waiting).await?;
    backlog.analyze().await?;
    times.waiting = backlog.count_waiting().await?;
    report_progress(format!("filled in {} s", begun.elapsed().as_secs()));
    let open = hold_snapshot(&environment).await?;
    backlog.wait_for_vacuum().await?;
    let processes = MeasuredProcesses {
        postgres: environment.database_server()?.child.pid(),
        ..MeasuredProcesses::default()
    };
    let meters = processes.read_cpu()?;
    times.tracking_large = measure_tracking(&environment, lookups).await?;
    let before = usize::try_from(options.gathered / CARGO_PER_GATHER).unwrap_or_default();
    let (gathered, milliseconds) = measure_gathers(&environment, before + options.gathers).await?;
    times.gathered = gathered;
    times.large = milliseconds.iter().copied().take(options.gathers).collect();
    times.after = milliseconds
        .iter()
        .copied()
        .rev()
        .take(options.gathers)
        .collect();
    times.other_processes = meters
        .usage_until(processes.read_cpu()?)
        .other_processes_share();
    drop(open);
    let settings = environment.database_server()?.settings_to_json();
    Ok(build_verdict(settings, options, times))
}

fn build_verdict(
    settings: Value,
    options: &BenchGatherOptions,
    mut times: GatherTimes,
) -> TrialVerdict {
    let ratio = |larger: &mut [f64], smaller: &mut [f64]| {
        Some(median(larger)? / median(smaller)?.max(f64::MIN_POSITIVE))
    };
    let large = ratio(&mut times.large, &mut times.small);
    let after = ratio(&mut times.after, &mut times.small);
    let tracking = ratio(&mut times.tracking_large, &mut times.tracking_small);
    let mut verdict = TrialVerdict::new("bench gather").judging_figures(!options.small);
    for (name, value) in [
        ("ratio", large),
        ("ratio_after", after),
        ("ratio_tracking", tracking),
    ] {
        verdict.record(name, value.map(|value| round_to(value, 2)));
        let held = value.is_some_and(|value| value <= MAX_RATIO);
        verdict.check_figure(format!("{name} at most 1.3"), held);
    }
    let all_gathered = times.gathered >= options.gathered;
    judge! { verdict;
        record "small_milliseconds" => summarize(&mut times.small),
        record "large_milliseconds" => summarize(&mut times.large),
        record "after_milliseconds" => summarize(&mut times.after),
        record "tracking_small_milliseconds" => summarize(&mut times.tracking_small),
        record "tracking_large_milliseconds" => summarize(&mut times.tracking_large),
        record "waiting" => times.waiting,
        record "gathered" => times.gathered,
        record "organizations" => options.organizations,
        record "other_processes" => round_to(times.other_processes, 3),
        record "settings" => settings,
        check "all requested cargo was gathered" => all_gathered,
    }
    verdict
}

/// Keeps a snapshot open: vacuum cannot remove rows that it may still see.
async fn hold_snapshot(environment: &BaseEnvironment) -> Result<PgConnection> {
    let mut connection = environment.database_server()?.connect(SHARD).await?;
    let begin = "begin isolation level repeatable read; select from shard.waiting limit 1";
    postgres::execute(&mut connection, begin).await?;
    Ok(connection)
}

/// Runs the service's gather stage, first without counting. Returns how many cargo were
/// gathered in all, and the counted times.
async fn measure_gathers(environment: &BaseEnvironment, counted: usize) -> Result<(i64, Vec<f64>)> {
    let (count, items) = (
        (WARM_UP_GATHERS + counted).to_string(),
        CARGO_PER_GATHER.to_string(),
    );
    let verb = [
        "trial", "gather", "--count", &count, "--items", &items, "--lane", MODEL,
    ];
    let report = run_for_json(environment, &verb).await?;
    let gathered = report.get("gathered").and_then(Value::as_i64);
    let gathered = gathered.context(format!("no count in {report}"))?;
    Ok((
        gathered,
        read_milliseconds(&report)?
            .into_iter()
            .skip(WARM_UP_GATHERS)
            .collect(),
    ))
}

async fn measure_tracking(environment: &BaseEnvironment, lookups: usize) -> Result<Vec<f64>> {
    let count = lookups.to_string();
    read_milliseconds(&run_for_json(environment, &["trial", "tracking", "--count", &count]).await?)
}

async fn run_for_json(environment: &BaseEnvironment, verb: &[&str]) -> Result<Value> {
    let output = environment.longshored.run(verb).await?;
    let line = output.lines().last().unwrap_or_default();
    serde_json::from_str(line).context(format!("reading the output of {}", verb.join(" ")))
}

fn read_milliseconds(report: &Value) -> Result<Vec<f64>> {
    let times = report.get("milliseconds").and_then(Value::as_array);
    let times = times.context(format!("no times in {report}"))?;
    Ok(times.iter().filter_map(Value::as_f64).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_read_from_the_services_answer() {
        let report = json!({"milliseconds": [1.5, 2], "gathered": 2000});
        assert_eq!(read_milliseconds(&report).unwrap(), [1.5, 2.0]);
        assert!(read_milliseconds(&json!({})).is_err());
    }
}
