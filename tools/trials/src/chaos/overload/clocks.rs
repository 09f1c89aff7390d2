//! Processes whose clocks are ten minutes off: only the database's clock may count.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::harness::build_profile;
use crate::harness::callbacks::callback_sink;
use crate::harness::checks::completion;
use crate::harness::load::open_loop;
use crate::harness::longshored::shifted_clock::shifted_clock_variables;
use crate::harness::measurement::statistics;
use crate::harness::{
    DatabaseLayout, Deployment, ProcessSpec, Result, TrialEnvironment, TrialVerdict, judge,
    report_progress,
};
use crate::options::{ChaosOverloadOptions, CommonOptions};

const CLOCK_OFFSET_SECONDS: f64 = 600.0;
const CLOCK_OFFSET_TOLERANCE_SECONDS: f64 = 30.0;
const LOADS_PER_SECOND: u32 = 40;
/// How long the mock takes; no callback may arrive earlier.
const MOCK_DELAY: f64 = 3.0;
/// What a loaded machine may add to the mock's delay and to a retry delay.
const MAX_LATE_SECONDS: f64 = 15.0;
/// An acknowledgement arrives a moment after the commit at which the delay starts, and the sink
/// records a callback a moment after it was sent. A busy machine makes these moments longer.
const ACKNOWLEDGEMENT_SECONDS: f64 = build_profile::choose(2.5, 1.0);
const MAX_EARLY_SECONDS: f64 = build_profile::choose(2.5, 0.1);
/// One of this many cargo has its first callback refused, and so is retried.
const REFUSE_FIRST_ONE_OF: u128 = 16;
const RETRY_DELAY_SECONDS: f64 = 30.0;
const SMALL_RETRY_DELAY_SECONDS: f64 = 5.0;
const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);

pub(super) async fn run(
    common: &CommonOptions,
    options: &ChaosOverloadOptions,
) -> Result<TrialVerdict> {
    let mut deployment = Deployment::new([
        process_with_shifted_clock("serve", "serve-ahead", "+600s")?,
        process_with_shifted_clock("serve", "serve-behind", "-600s")?,
        process_with_shifted_clock("work", "work-ahead", "+600s")?,
        process_with_shifted_clock("work", "work-behind", "-600s")?,
    ]);
    deployment.sink.refuse_first_one_of = Some(REFUSE_FIRST_ONE_OF);
    let mut deployment = deployment.with("MOCK_DELAY_SECONDS", &format!("{MOCK_DELAY:.0}"));
    let mut retry_delay = RETRY_DELAY_SECONDS;
    if options.small {
        retry_delay = SMALL_RETRY_DELAY_SECONDS;
        deployment = deployment.with("CALLBACK_RETRY_DELAYS", &format!("{retry_delay:.0},120"));
    }
    let layout = DatabaseLayout::SharedServer;
    let environment = TrialEnvironment::build(common, layout, deployment).await?;

    let length = Duration::from_secs(options.seconds);
    let since = unix_milliseconds();
    let load = open_loop::load_each_in_turn(&environment.callers);
    open_loop::offer_loads(LOADS_PER_SECOND, tokio::time::sleep(length), load).await;
    let offsets = read_clock_offsets(&environment).await?;
    let now = unix_milliseconds();
    report_progress("waiting for completion");
    let settled = completion::wait_for_completion(&environment, SETTLE_TIMEOUT).await?;

    let mut verdict = TrialVerdict::new("clocks");
    settled.judge(&environment.callers, &mut verdict);
    let all_off = offsets.iter().zip([-1.0, 1.0, -1.0, 1.0]);
    let all_off = all_off.into_iter().all(|(offset, sign)| {
        (offset - sign * CLOCK_OFFSET_SECONDS).abs() < CLOCK_OFFSET_TOLERANCE_SECONDS
    });
    judge! { verdict;
        record "database_ahead_seconds" => offsets,
        check "the clocks were off" => all_off,
    }
    environment.callers.load_log.judge_acceptance(&mut verdict);
    judge_ids(&environment, since, now, &mut verdict);
    judge_schedule(&environment, retry_delay, &mut verdict);
    Ok(verdict)
}

fn process_with_shifted_clock(verb: &'static str, name: &str, shift: &str) -> Result<ProcessSpec> {
    let mut role = ProcessSpec::new(verb, name);
    role.env_vars = shifted_clock_variables(shift)?;
    Ok(role)
}

/// How far the databases' clock is ahead of each process's clock.
async fn read_clock_offsets(environment: &TrialEnvironment) -> Result<Vec<f64>> {
    let mut offsets = Vec::new();
    for process in &environment.processes {
        let metrics = process.scrape_metrics().await?;
        // Control and both shards are on one server.
        let offset = metrics.mean("longshore_database_clock_offset_seconds");
        offsets.push(statistics::round_to(offset, 1));
    }
    Ok(offsets)
}

fn unix_milliseconds() -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis())
}

/// A cargo's id carries its time, and deadlines depend on it.
fn judge_ids(environment: &TrialEnvironment, since: u128, now: u128, verdict: &mut TrialVerdict) {
    let loaded = environment.callers.load_log.acknowledged();
    let is_right = |cargo: &u128| (since - 2_000..=now + 2_000).contains(&(cargo >> 80));
    let wrong = loaded.keys().filter(|cargo| !is_right(cargo)).count();
    verdict
        .record("ids_with_a_wrong_time", wrong)
        .check("ids carry the database's time", wrong == 0);
}

fn judge_schedule(environment: &TrialEnvironment, retry_delay: f64, verdict: &mut TrialVerdict) {
    let (mut first, mut retries) = (Vec::new(), Vec::new());
    let mut missing_retries = 0;
    for (cargo, loaded) in environment.callers.load_log.acknowledged() {
        let Some(receipt) = environment.callers.receipts.find(cargo) else {
            continue;
        };
        let waited = receipt
            .first_at
            .saturating_duration_since(loaded.ended_at());
        first.push(waited.as_secs_f64());
        if callback_sink::is_refused_first(cargo, REFUSE_FIRST_ONE_OF) {
            if receipt.count > 1 {
                retries.push((receipt.last_at - receipt.first_at).as_secs_f64());
            } else {
                missing_retries += 1;
            }
        }
    }
    let is_early = |values: &[f64], least: f64| values.iter().any(|value| *value < least);
    let is_late = |values: &[f64], most: f64| values.iter().any(|value| *value > most);
    judge! { verdict;
        record "callback_seconds" => statistics::summarize(&mut first),
        record "retry_seconds" => statistics::summarize(&mut retries),
        record "retries" => retries.len(),
        check "no callback is early" => !is_early(&first, MOCK_DELAY - ACKNOWLEDGEMENT_SECONDS),
        check_figure "no callback is late" => !is_late(&first, MOCK_DELAY + MAX_LATE_SECONDS),
        check "no retry is missing or early" => missing_retries == 0
            && !retries.is_empty()
            && !is_early(&retries, retry_delay - MAX_EARLY_SECONDS),
        check_figure "no retry is late" => !is_late(&retries, retry_delay + MAX_LATE_SECONDS),
    }
}
