//! From load to delivered callback, at a sustained rate; or what encryption at rest or tracing
//! costs there.

pub mod journey_round;

pub mod span_sink;

use serde_json::{Value, json};

use crate::bench::journey::journey_round::{JourneyRound, JourneyVariant};
use crate::harness::failure::Result;
use crate::harness::measurement::statistics::{median, round_to, summarize};
use crate::harness::progress::report_progress;
use crate::harness::verdict::TrialVerdict;
use crate::options::{BenchJourneyOptions, CommonOptions};

const MIN_CARGO_PER_SECOND: f64 = 2500.0;
const MAX_CPU_SECONDS_PER_THOUSAND: f64 = 0.7;
const MAX_WAL_BYTES_PER_CARGO: f64 = 6000.0;
/// Cargo per second with encryption at rest, compared with the same without.
const MIN_RATIO_WITH_ENCRYPTION: f64 = 0.9;

pub async fn run(common: &CommonOptions, options: &BenchJourneyOptions) -> Result<TrialVerdict> {
    if options.encrypted {
        return compare_with_encryption(common, options).await;
    }
    if let Some(ratio) = &options.tracing {
        return compare_with_tracing(common, options, ratio).await;
    }
    let round = JourneyRound::measure(common, options, JourneyVariant::Plain).await?;
    Ok(build_verdict(options, round))
}

/// The rounds of a comparison.
struct ComparedRounds {
    plain: Vec<JourneyRound>,
    other: Vec<JourneyRound>,
}

/// Measures without the variant and with it, in turns.
async fn measure_in_turns(
    common: &CommonOptions,
    options: &BenchJourneyOptions,
    other: JourneyVariant<'_>,
) -> Result<ComparedRounds> {
    let mut rounds = ComparedRounds {
        plain: Vec::new(),
        other: Vec::new(),
    };
    for number in 1..=options.rounds {
        report_progress(format!("round {number} of {}", options.rounds));
        let mut variants = [JourneyVariant::Plain, other];
        // A machine that becomes slower or faster must not favour one of them.
        if number % 2 == 0 {
            variants.reverse();
        }
        for variant in variants {
            let round = Box::pin(JourneyRound::measure(common, options, variant)).await?;
            let rate = round.cargo_per_second();
            report_progress(format!("  {rate:>8.0} a second: {variant:?}"));
            if variant == other {
                rounds.other.push(round);
            } else {
                rounds.plain.push(round);
            }
        }
    }
    Ok(rounds)
}

async fn compare_with_tracing(
    common: &CommonOptions,
    options: &BenchJourneyOptions,
    ratio: &str,
) -> Result<TrialVerdict> {
    let traced = JourneyVariant::Traced(ratio);
    let ComparedRounds { plain, other } = measure_in_turns(common, options, traced).await?;
    let pairs = || plain.iter().zip(&other);
    let rate_ratios =
        pairs().map(|(plain, other)| other.cargo_per_second() / plain.cargo_per_second().max(1.0));
    let cpu_ratios = pairs().map(|(plain, other)| {
        other.cpu_seconds_per_thousand() / plain.cpu_seconds_per_thousand().max(f64::MIN_POSITIVE)
    });
    let middle = |mut ratios: Vec<f64>| median(&mut ratios).map(|ratio| round_to(ratio, 3));
    let sum = |read: fn(&JourneyRound) -> f64| other.iter().map(read).sum::<f64>();
    let (spans, cargo) = (sum(|it| it.spans.arrived), sum(|it| it.spans.cargo));
    let (bytes, dropped) = (sum(|it| it.spans.bytes), sum(|it| it.spans.dropped));
    let mut verdict = TrialVerdict::new("bench journey").judging_figures(!options.small);
    verdict
        .record("tracing", ratio)
        .record("ratio", middle(rate_ratios.collect()))
        .record("cpu_ratio", middle(cpu_ratios.collect()))
        .record("spans_per_cargo", round_to(spans / cargo.max(1.0), 3))
        .record("bytes_per_span", round_to(bytes / spans.max(1.0), 0))
        .record("spans_dropped", round_to(dropped, 0))
        .merge_part("plain", summarize_rounds(&plain))
        .merge_part("traced", summarize_rounds(&other));
    record_load(options, &mut verdict);
    Ok(verdict)
}

async fn compare_with_encryption(
    common: &CommonOptions,
    options: &BenchJourneyOptions,
) -> Result<TrialVerdict> {
    let encrypted = JourneyVariant::Encrypted;
    let ComparedRounds {
        plain,
        other: encrypted,
    } = measure_in_turns(common, options, encrypted).await?;
    let rates = plain.iter().zip(&encrypted);
    let mut ratios: Vec<f64> = rates
        .map(|(plain, encrypted)| encrypted.cargo_per_second() / plain.cargo_per_second().max(1.0))
        .collect();
    let ratio = median(&mut ratios).unwrap_or_default();
    let mut verdict = TrialVerdict::new("bench journey").judging_figures(!options.small);
    verdict
        .record("ratio", round_to(ratio, 3))
        .merge_part("plain", summarize_rounds(&plain))
        .merge_part("encrypted", summarize_rounds(&encrypted))
        .check_figure(
            "with encryption at least 0.9 of the cargo per second without",
            ratio >= MIN_RATIO_WITH_ENCRYPTION,
        );
    record_load(options, &mut verdict);
    Ok(verdict)
}

/// The medians of some rounds, and their promises.
fn summarize_rounds(rounds: &[JourneyRound]) -> TrialVerdict {
    let mut verdict = TrialVerdict::new("rounds");
    let figure = |read: fn(&JourneyRound) -> f64, digits| {
        let mut values: Vec<f64> = rounds.iter().map(read).collect();
        median(&mut values).map(|value| round_to(value, digits))
    };
    let rates = rounds.iter().map(JourneyRound::cargo_per_second);
    let rates: Vec<f64> = rates.map(|rate| round_to(rate, 0)).collect();
    let shares = rounds.iter().map(|it| it.window.cpu.machine_shares());
    let shares: Vec<Value> = shares.collect();
    verdict
        .record(
            "cargo_per_second",
            figure(JourneyRound::cargo_per_second, 0),
        )
        .record(
            "cpu_seconds_per_thousand",
            figure(JourneyRound::cpu_seconds_per_thousand, 3),
        )
        .record(
            "wal_bytes_per_cargo",
            figure(JourneyRound::wal_bytes_per_cargo, 0),
        )
        .record("cargo_per_second_by_round", rates)
        .record("cpu_shares_by_round", shares);
    for round in rounds {
        round.check_promises(&mut verdict);
    }
    verdict
}

/// How the service was loaded.
fn record_load(options: &BenchJourneyOptions, verdict: &mut TrialVerdict) {
    verdict
        .record("seconds", options.seconds)
        .record("connections", options.connections)
        .record("organizations", options.organizations)
        .record("in_flight", options.in_flight)
        .record("priced", options.priced);
}

fn build_verdict(options: &BenchJourneyOptions, mut round: JourneyRound) -> TrialVerdict {
    let (rate, cpu) = (round.cargo_per_second(), round.cpu_seconds_per_thousand());
    let wal = round.wal_bytes_per_cargo();
    let window = &round.window;
    let mut verdict = TrialVerdict::new("bench journey").judging_figures(!options.small);
    verdict
        .record("cargo_per_second", round_to(rate, 0))
        .record("cpu_seconds_per_thousand", round_to(cpu, 3))
        .record(
            "cpu_by_process",
            window.cpu.per_thousand_cargo(window.delivered),
        )
        .record("wal_bytes_per_cargo", round_to(wal, 0))
        .record("cpu_shares", window.cpu.machine_shares())
        .record("delivered", window.delivered)
        .record(
            "load_milliseconds",
            summarize(&mut round.loads.milliseconds),
        )
        .record("duplicates", round.duplicates)
        .record("lost", round.lost)
        .record("failed", json!(round.loads.failures))
        .record("settings", round.settings.clone());
    record_load(options, &mut verdict);
    round.check_promises(&mut verdict);
    verdict
        .check_figure(
            "at least 2,500 cargo per second",
            rate >= MIN_CARGO_PER_SECOND,
        )
        .check_figure(
            "at most 0.7 CPU-seconds per thousand cargo",
            cpu <= MAX_CPU_SECONDS_PER_THOUSAND,
        )
        .check_figure(
            "at most 6,000 bytes of WAL per cargo",
            wal <= MAX_WAL_BYTES_PER_CARGO,
        );
    verdict
}
