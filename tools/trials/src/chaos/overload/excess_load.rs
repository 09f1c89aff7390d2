//! Five times the load that the service sustains, near its database or far from it.
//!
//! The connection to the database is the bottleneck, as in production. The callers of a trial
//! share the machine's cores with the service: if cores were the bottleneck, the trial would be
//! short of callers too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::checks::completion;
use crate::harness::load::load_log;
use crate::harness::load::open_loop;
use crate::harness::measurement::statistics;
use crate::harness::{
    BaseEnvironment, DatabaseLayout, Deployment, LoadLog, LoadRecord, ProcessSpec, Result,
    SlowRelay, TrialEnvironment, TrialVerdict, judge, percentile, report_progress, round_to,
};
use crate::options::{ChaosOverloadOptions, CommonOptions};

const ADDED_LATENCY: Duration = Duration::from_millis(200);
/// Loads in flight while the sustained rate is measured: enough to fill groups, even if a group
/// takes seconds.
const CLOSED_LOOP_CONNECTIONS: usize = 512;
/// An idle service first opens connections and learns how large its groups may be. It has at
/// most as long as the measurement.
const WARM_UP: Duration = Duration::from_secs(8);
const MAX_MEASUREMENT: Duration = Duration::from_secs(15);
const OVERLOAD_FACTOR: f64 = 5.0;
/// The calm load, as a share of the sustained rate.
const CALM_FACTOR: f64 = 0.3;
const CALM_DURATION: Duration = Duration::from_secs(3);
/// The queue is full by then.
const RAMP_UP: Duration = Duration::from_secs(3);
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(10);
const AFTER_RECOVERY: Duration = Duration::from_secs(5);
const MIN_GOODPUT_RATIO: f64 = 0.8;
const MAX_REFUSAL_MILLISECONDS: f64 = 100.0;
/// The queues must drain: at least as long as the overload itself.
const SETTLE_TIMEOUT: Duration = Duration::from_mins(3);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DatabaseDistance {
    Near,
    Far,
}

/// When each phase began.
#[derive(Debug, Clone, Copy)]
struct OverloadPhases {
    calm_from: Instant,
    overload_from: Instant,
    overload_until: Instant,
    /// Loads must be accepted again by then.
    recovered_by: Instant,
    end: Instant,
}

pub(super) async fn run(
    common: &CommonOptions,
    options: &ChaosOverloadOptions,
    place: DatabaseDistance,
) -> Result<TrialVerdict> {
    let base = BaseEnvironment::build_for_chaos(common, DatabaseLayout::SharedServer).await?;
    let server = base.database_server()?.address();
    let relay = SlowRelay::start(server, Some(options.database_bytes_per_second)).await?;
    let roles = [
        ProcessSpec::new("serve", "serve").through_relay(relay.address),
        ProcessSpec::new("work", "work"),
    ];
    let environment = TrialEnvironment::start(base, Deployment::new(roles)).await?;
    if place == DatabaseDistance::Far {
        relay.set_delay(ADDED_LATENCY);
    }

    let length = Duration::from_secs(options.seconds);
    let numbers = Arc::new(AtomicU64::new(0));
    let sustained =
        measure_sustained_rate(&environment, &numbers, length.min(MAX_MEASUREMENT)).await;
    report_progress(format!(
        "the service sustains {sustained:.0} loads per second"
    ));
    let phases = offer_phases(&environment, &numbers, sustained, options).await;
    report_progress("waiting for completion");
    let settled = completion::wait_for_completion(&environment, SETTLE_TIMEOUT).await?;

    let mut verdict = TrialVerdict::new("overload").judging_figures(!options.small);
    verdict.record("sustained_per_second", round_to(sustained, 1));
    settled.judge(&environment.callers, &mut verdict);
    let loads = &environment.callers.load_log;
    judge(&mut verdict, loads, phases, sustained);
    Ok(verdict)
}

/// Loads accepted per second when each connection waits for its response.
async fn measure_sustained_rate(
    environment: &TrialEnvironment,
    numbers: &Arc<AtomicU64>,
    length: Duration,
) -> f64 {
    let begun = Instant::now();
    let from = begun + WARM_UP.min(length);
    let until = from + length;
    let mut running = JoinSet::new();
    for _ in 0..CLOSED_LOOP_CONNECTIONS {
        let (callers, numbers) = (Arc::clone(&environment.callers), Arc::clone(numbers));
        running.spawn(async move {
            while Instant::now() < until {
                let number = numbers.fetch_add(1, Ordering::Relaxed);
                if !open_loop::load_in_turn(&callers, number).await {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        });
    }
    while running.join_next().await.is_some() {}
    environment.callers.load_log.goodput(from, until)
}

/// Calm load, the overload, and immediately calm load again. In a small run no phase is longer
/// than the overload.
async fn offer_phases(
    environment: &TrialEnvironment,
    numbers: &Arc<AtomicU64>,
    sustained: f64,
    options: &ChaosOverloadOptions,
) -> OverloadPhases {
    let one = |_| {
        let callers = Arc::clone(&environment.callers);
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        async move {
            open_loop::load_in_turn(&callers, number).await;
        }
    };
    let length = Duration::from_secs(options.seconds);
    let shorten = |phase: Duration| {
        if options.small {
            phase.min(length)
        } else {
            phase
        }
    };
    let calm = Instant::now();
    let pace = to_rate(sustained * CALM_FACTOR);
    open_loop::offer_loads(pace, tokio::time::sleep(shorten(CALM_DURATION)), one).await;
    let overload = Instant::now();
    let after = overload + length;
    let recovered_by = after + shorten(RECOVERY_TIMEOUT);
    let end = recovered_by + shorten(AFTER_RECOVERY);
    report_progress(format!(
        "offering {:.0} loads per second",
        sustained * OVERLOAD_FACTOR
    ));
    let flood = tokio::time::sleep_until(after.into());
    let flood = open_loop::offer_loads(to_rate(sustained * OVERLOAD_FACTOR), flood, one);
    let calm_again = async {
        tokio::time::sleep_until(after.into()).await;
        report_progress("calm load again");
        open_loop::offer_loads(pace, tokio::time::sleep_until(end.into()), one).await
    };
    tokio::join!(flood, calm_again);
    OverloadPhases {
        calm_from: calm,
        overload_from: overload,
        overload_until: after,
        recovered_by,
        end,
    }
}

fn to_rate(per_second: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates of a trial are small and never negative"
    )]
    let rate = per_second.round().max(1.0) as u32;
    rate
}

fn judge(verdict: &mut TrialVerdict, loads: &LoadLog, phases: OverloadPhases, sustained: f64) {
    let flood = loads.between(phases.overload_from, phases.overload_until);
    let ramp = RAMP_UP.min((phases.overload_until - phases.overload_from) / 4);
    let goodput = loads.goodput(phases.overload_from + ramp, phases.overload_until);
    let offered =
        statistics::rate_per_second(flood.len(), phases.overload_until - phases.overload_from);
    let mut refusals = load_log::milliseconds_where(&flood, LoadRecord::is_refused);
    let slow_refusal = percentile(&mut refusals, 990);
    let mut accepted = load_log::milliseconds_where(&flood, LoadRecord::is_accepted);
    let others = flood
        .iter()
        .filter(|load| !load.is_accepted() && !load.is_refused());
    judge! { verdict;
        record "offered_per_second" => round_to(offered, 1),
        record "goodput_per_second" => round_to(goodput, 1),
        record "goodput_ratio" => round_to(goodput / sustained.max(1.0), 3),
        record "answers" => load_log::count_answers(&flood),
        record "accepted_milliseconds" => statistics::summarize(&mut accepted),
        record "refused_milliseconds" => statistics::summarize(&mut refusals),
        record "slow_refusals_by_second" => slow_refusals_by_second(&flood, phases),
        check_figure "goodput is at least 80 % of the sustained rate" =>
            goodput >= sustained * MIN_GOODPUT_RATIO,
        check_figure "some loads were refused" => !refusals.is_empty(),
        check_figure "refusals take at most 100 ms at p99" =>
            slow_refusal.is_some_and(|slow| slow <= MAX_REFUSAL_MILLISECONDS),
        check "every answer is 202 or 503" => others.count() == 0,
    }
    judge_recovery(verdict, loads, phases);
}

/// How many refusals took too long, by the second of the overload.
fn slow_refusals_by_second(flood: &[LoadRecord], phases: OverloadPhases) -> Value {
    let mut counts = BTreeMap::<String, u64>::new();
    for load in flood.iter().filter(|load| load.is_refused()) {
        if statistics::to_milliseconds(load.duration) > MAX_REFUSAL_MILLISECONDS {
            let second = load
                .began_at
                .saturating_duration_since(phases.overload_from);
            let second = format!("{:03}", second.as_secs());
            *counts.entry(second).or_default() += 1;
        }
    }
    json!(counts)
}

/// Recovered means: every load is accepted, and most are as fast as before.
fn judge_recovery(verdict: &mut TrialVerdict, loads: &LoadLog, phases: OverloadPhases) {
    let before = loads.between(phases.calm_from, phases.overload_from);
    let after = loads.between(phases.overload_until, phases.end);
    let late = loads.between(phases.recovered_by, phases.end);
    let mut before = load_log::milliseconds_where(&before, LoadRecord::is_accepted);
    let mut late_milliseconds = load_log::milliseconds_where(&late, LoadRecord::is_accepted);
    let last_refusal = after
        .iter()
        .filter(|load| !load.is_accepted())
        .map(|load| {
            load.ended_at()
                .saturating_duration_since(phases.overload_until)
        })
        .max();
    let is_quick = match (
        percentile(&mut late_milliseconds, 500),
        percentile(&mut before, 990),
    ) {
        (Some(late), Some(before)) => late <= before * 2.0,
        _ => false,
    };
    let last_refusal = last_refusal.map(|after| round_to(after.as_secs_f64(), 2));
    judge! { verdict;
        record "calm_milliseconds" => statistics::summarize(&mut before),
        record "normal_milliseconds" => statistics::summarize(&mut late_milliseconds),
        record "last_refusal_after_seconds" => last_refusal,
        check_figure "latency and acceptance are normal again within 10 s" =>
            !late.is_empty() && late.iter().all(LoadRecord::is_accepted) && is_quick,
    }
}
