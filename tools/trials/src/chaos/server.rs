//! A real model answers; the trial kills its server while requests run, and later the worker.

pub mod environment;
pub mod questions;
pub mod shaped_answers;

use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::chaos::server::environment::RealModelEnvironment;
use crate::harness::checks::ledger_audit;
use crate::harness::environment::databases;
use crate::harness::http::load_request;
use crate::harness::measurement::statistics;
use crate::harness::{
    CallbackLog, FailureContext as _, LLAMA_SLOTS, LoadRecord, LoadSource, PollLimits,
    RequestCounts, Result, TrialFailure, TrialVerdict, judge, report_progress,
};
use crate::options::{ChaosServerOptions, CommonOptions};

const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// A busy machine answers one request in several seconds.
const TIMEOUT_PER_CARGO: Duration = Duration::from_secs(30);
const MIN_TIMEOUT: Duration = Duration::from_mins(5);
/// With less cargo there is no time to kill the worker too, or to grow to all slots.
const MIN_CARGO_FOR_WORKER_KILL: usize = 100;

#[derive(Debug, Default)]
struct KillCosts {
    /// Requests in flight when the server was killed, and when the worker was.
    in_flight: Vec<usize>,
    /// Answers that the killed worker had not stored.
    unsaved_answers: usize,
}

pub async fn run(common: &CommonOptions, options: &ChaosServerOptions) -> Result<TrialVerdict> {
    let mut environment = RealModelEnvironment::build(common, options).await?;
    report_progress(format!("loading {} cargo", options.cargo));
    let begun = Instant::now();
    let callback_log = CallbackLog::new(&environment.service.callback_sink.receipts);
    let callback_url = &environment.service.callers.callback_url;
    let loads = (0..options.cargo).map(|number| questions::build_load(number, callback_url));
    load_cargo(&environment, &callback_log, loads).await?;
    let until = begun + callback_timeout(options.cargo);
    let costs = kill_processes(&mut environment, options.cargo, until).await?;
    let limits = PollLimits::new(until - Instant::now(), POLL_INTERVAL);
    limits.wait_until(|| callback_log.is_complete()).await;
    let seconds = begun.elapsed().as_secs_f64();

    let mut verdict = TrialVerdict::new("chaos server");
    judge_answers(
        &mut verdict,
        &environment,
        &callback_log,
        options.cargo,
        seconds,
    );
    judge_requests(&mut verdict, &environment, options.cargo, &costs);
    shaped_answers::run(&mut verdict, &environment, options.schemas).await?;
    let successes = || callback_log.count_successes();
    let ledger = ledger_audit::audit_charges(&environment.service, successes).await?;
    ledger.judge(&mut verdict);
    Ok(verdict)
}

/// How long all callbacks may take.
fn callback_timeout(cargo: usize) -> Duration {
    MIN_TIMEOUT.max(TIMEOUT_PER_CARGO * u32::try_from(cargo).unwrap_or(u32::MAX))
}

/// Loads one cargo after the other, each with its unique text; each must be acknowledged.
async fn load_cargo(
    environment: &RealModelEnvironment,
    callback_log: &CallbackLog,
    loads: impl Iterator<Item = (String, String)>,
) -> Result<()> {
    let callers = &environment.service.callers;
    let caller = callers.organizations.first().zip(callers.clients.first());
    let (organization, target) = caller.context("there is no caller that can load")?;
    let source = LoadSource::labelled(questions::MODEL);
    for (body, text) in loads {
        let request = load_request::load(organization, body);
        let began_at = Instant::now();
        let answer = target.send_load(request).await.context("loading")?;
        let record = LoadRecord::new(source, began_at, Ok(&answer));
        if record.cargo.is_none() {
            let text = format!("load: {} {}", answer.status, answer.json());
            return Err(TrialFailure::new(text));
        }
        callback_log.record_load(record, &text);
    }
    Ok(())
}

async fn kill_processes(
    environment: &mut RealModelEnvironment,
    cargo: usize,
    until: Instant,
) -> Result<KillCosts> {
    let mut costs = KillCosts::default();
    wait_for_answers(environment, cargo * 2 / 5, until).await?;
    costs
        .in_flight
        .push(environment.proxy.request_log.counts().in_flight);
    environment.llama.child.kill();
    report_progress("killed the model's server; starting it again");
    environment.llama.start()?;
    environment.llama.wait_until_ready().await?;
    if cargo < MIN_CARGO_FOR_WORKER_KILL {
        return Ok(costs);
    }
    wait_for_answers(environment, cargo * 7 / 10, until).await?;
    costs
        .in_flight
        .push(environment.proxy.request_log.counts().in_flight);
    for worker in environment.service.workers_mut() {
        worker.child.kill();
    }
    costs.unsaved_answers = count_unsaved_answers(environment).await?;
    report_progress("killed the worker; starting it again");
    environment.service.start_workers()?;
    Ok(costs)
}

/// Waits until this many are answered and another request is in flight.
async fn wait_for_answers(
    environment: &RealModelEnvironment,
    many: usize,
    until: Instant,
) -> Result<()> {
    let limits = PollLimits::new(until - Instant::now(), POLL_INTERVAL);
    let log = &environment.proxy.request_log;
    let is_enough = || log.counts().answered >= many && log.counts().in_flight > 0;
    if limits.wait_until(is_enough).await {
        return Ok(());
    }
    let what = format!("has not enough answers in time: {:?}", log.counts());
    Err(environment.service.worker()?.child.failure(&what))
}

/// Counts cargo with an answer and without an outcome.
async fn count_unsaved_answers(environment: &RealModelEnvironment) -> Result<usize> {
    let mut open = environment.proxy.request_log.answered_cargo();
    let query = "select cargo from shard.outcome";
    let stored: Vec<(Uuid,)> = databases::fetch_rows(&environment.service.shards, query).await?;
    for (cargo,) in stored {
        open.remove(&cargo.as_u128());
    }
    Ok(open.len())
}

fn judge_answers(
    verdict: &mut TrialVerdict,
    environment: &RealModelEnvironment,
    callback_log: &CallbackLog,
    cargo: usize,
    seconds: f64,
) {
    let answers = environment.proxy.request_log.answers_by_cargo();
    let sum = callback_log.summarize(|cargo, _, body| {
        questions::find_mismatch(body, answers.get(&cargo).map_or(&[], Vec::as_slice))
    });
    let bodies = callback_log.parse_bodies();
    let stopped = |reason: &str| {
        let same = bodies
            .iter()
            .filter(|it| questions::stop_reason(it) == reason);
        same.count()
    };
    let tokens = |which: &str| {
        bodies
            .iter()
            .map(|it| questions::token_count(it, which))
            .sum::<u64>()
    };
    let delivered = sum.loaded - sum.lost;
    let rate = statistics::to_f64(delivered) / seconds;
    verdict
        .record("cargo", cargo)
        .record("delivered", delivered)
        .record("seconds", statistics::round_to(seconds, 1))
        .record("cargo_per_second", statistics::round_to(rate, 2))
        .record("input_tokens", tokens("input"))
        .record("output_tokens", tokens("output"))
        .record("max_tokens", stopped("max_tokens"))
        .record("end_turn", stopped("end_turn"))
        .record("callbacks_repeated", sum.repeated)
        .check("all cargo is delivered", delivered == cargo)
        .check("some answers end with end_turn", stopped("end_turn") > 0)
        .check(
            "some answers end with max_tokens",
            stopped("max_tokens") > 0,
        )
        .check_none(
            "usage and stop reason equal the server's answer",
            "wrong",
            &sum.wrong,
        );
}

fn judge_requests(
    verdict: &mut TrialVerdict,
    environment: &RealModelEnvironment,
    cargo: usize,
    costs: &KillCosts,
) {
    let (register, slots) = (&environment.proxy.request_log, LLAMA_SLOTS as usize);
    let RequestCounts {
        received,
        cut,
        refused: turned_away,
        ..
    } = register.counts();
    let repeated = received.saturating_sub(cargo);
    let most = register.max_in_flight();
    judge! { verdict;
        record "max_in_flight" => most,
        record "requests" => received,
        record "repeated" => repeated,
        record "process_kills" => costs.in_flight.len(),
        record "in_flight_at_kills" => costs.in_flight.clone(),
        record "cut" => cut,
        record "answers_not_stored_at_kill" => costs.unsaved_answers,
        record "refused" => turned_away,
        check "the server never has more requests than slots" => most <= slots,
        check "all slots are used" => cargo < MIN_CARGO_FOR_WORKER_KILL || most == slots,
        check "only requests without an answer are sent again" =>
            repeated == cut + costs.unsaved_answers + turned_away,
        check "a kill costs at most the requests in flight" =>
            cut + costs.unsaved_answers <= slots * costs.in_flight.len(),
    }
}
