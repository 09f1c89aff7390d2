//! From load to delivered callback, at a sustained rate; or what encryption at rest costs there.

pub mod journey_round;

use serde_json::{Value, json};

use crate::bench::journey::journey_round::JourneyRound;
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
    let round = JourneyRound::measure(common, options, false).await?;
    Ok(build_verdict(options, round))
}

/// Measures without encryption at rest and with it, in turns.
async fn compare_with_encryption(
    common: &CommonOptions,
    options: &BenchJourneyOptions,
) -> Result<TrialVerdict> {
    let (mut plain, mut encrypted) = (Vec::new(), Vec::new());
    for number in 1..=options.rounds {
        report_progress(format!("round {number} of {}", options.rounds));
        // A machine that becomes slower or faster must not favour one of them.
        let begins_encrypted = number % 2 == 0;
        for is_encrypted in [begins_encrypted, !begins_encrypted] {
            let measuring = JourneyRound::measure(common, options, is_encrypted);
            let round = Box::pin(measuring).await?;
            let (rounds, name) = if is_encrypted {
                (&mut encrypted, "with encryption")
            } else {
                (&mut plain, "without")
            };
            let rate = round.cargo_per_second();
            report_progress(format!("  {rate:>8.0} a second: {name}"));
            rounds.push(round);
        }
    }
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
