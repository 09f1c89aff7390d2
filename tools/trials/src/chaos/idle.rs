//! Connections without a key: thousands are idle, drip or are not read, and loads of paying callers
//! stay as fast as usual.

mod attackers;
mod paying_callers;

use std::net::SocketAddr;
use std::time::Duration;

use clap::ValueEnum as _;
use serde_json::{Value, json};

use crate::chaos::idle::attackers::Attackers;
use crate::chaos::idle::paying_callers::PayingCallers;
use crate::chaos::neighbours::steady_load::{self, LoadObservation};
use crate::harness::measurement::open_files;
use crate::harness::measurement::process_memory;
use crate::harness::measurement::statistics;
use crate::harness::{
    DatabaseLayout, FailureContext as _, ForwardingProxy, LongshoredProcess, PROXY_ADDRESS,
    PollLimits, Result, TrialEnvironment, TrialVerdict, judge, report_progress, round_to,
};
use crate::options::{ChaosIdleOptions, CommonOptions, IdlePart, value_name};

const ORGANIZATIONS: usize = 6;
/// Open files of the trial for each connection through its proxy, and for everything else.
const FILES_PER_CONNECTION: usize = 3;
const OTHER_OPEN_FILES: usize = 1000;
/// The first loads open connections and fill caches.
const WARM_UP: Duration = Duration::from_secs(2);
/// All attackers are connected within this time, and none has reached a deadline.
const CONNECT_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(20), Duration::from_millis(250));
/// The service closes all connections that the attackers closed within this time.
const RELEASE_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(250));
/// Other open files of the service vary by less than this.
const OPEN_FILES_MARGIN: usize = 100;
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_P99_FACTOR: f64 = 2.0;
/// A usual p99 below this counts as this. Callers, attackers and the service share the cores: a
/// task that runs a few milliseconds late says nothing about the service.
const MIN_USUAL_P99_MILLISECONDS: f64 = 5.0;
/// Metrics of the service, and their names in the verdict.
const CONNECTION_METRICS: [(&str, &str); 5] = [
    ("timed_out", "longshore_http_connections_timed_out_total"),
    (
        "bodies_timed_out",
        "longshore_http_request_bodies_timed_out_total",
    ),
    ("shed", "longshore_http_connections_shed_total"),
    ("refused", "longshore_http_connections_refused_total"),
    ("requests_refused", "longshore_http_requests_refused_total"),
];

pub async fn run(common: &CommonOptions, options: &ChaosIdleOptions) -> Result<TrialVerdict> {
    open_files::raise_limit(options.connections * FILES_PER_CONNECTION + OTHER_OPEN_FILES)?;
    let deployment = steady_load::deploy("idle", ORGANIZATIONS, 1);
    let deployment = deployment.with("TRUSTED_PROXIES", &PROXY_ADDRESS.to_string());
    let mut environment =
        TrialEnvironment::build(common, DatabaseLayout::SingleShard, deployment).await?;
    let mut verdict = TrialVerdict::new("chaos idle");
    verdict
        .record("connections", options.connections)
        .record("small", options.small);
    for &part in IdlePart::value_variants() {
        if !options.parts.is_empty() && !options.parts.contains(&part) {
            continue;
        }
        if part == IdlePart::Limit {
            restart_with_limit(&mut environment, connection_limit(options)).await?;
        }
        let judged = run_part(&environment, options, part).await?;
        verdict.merge_part(&value_name(&part), judged);
    }
    Ok(verdict)
}

const fn connection_limit(options: &ChaosIdleOptions) -> usize {
    options.connections / 2
}

async fn restart_with_limit(environment: &mut TrialEnvironment, limit: usize) -> Result<()> {
    let server = environment.processes.first_mut();
    let server = server.context("there is no process")?;
    server.terminate().await?;
    server.set("MAX_CONNECTIONS", &limit.to_string());
    server.start_and_wait().await
}

/// The loads of a part in its rounds, without attackers and with them.
async fn run_part(
    environment: &TrialEnvironment,
    options: &ChaosIdleOptions,
    part: IdlePart,
) -> Result<TrialVerdict> {
    let (server, name) = (environment.server()?, value_name(&part));
    let proxy = if part == IdlePart::Proxy {
        Some(ForwardingProxy::start(server.address()).await?)
    } else {
        None
    };
    let target = proxy
        .as_ref()
        .map_or_else(|| server.address(), |proxy| proxy.address);
    let callers = PayingCallers::new(environment, target);
    callers
        .load_during(options.rate, tokio::time::sleep(WARM_UP))
        .await;
    let (mut calm, mut disturbed, mut attacks) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        report_progress(format!("idle: {name}: round {round}: usual"));
        let usual = tokio::time::sleep(Duration::from_secs(options.seconds) / 2);
        let ((), window) = callers.load_during(options.rate, usual).await;
        calm.push(window);
        report_progress(format!("idle: {name}: round {round}: attack"));
        let attacking = attack(server, target, options, part);
        let (findings, window) = callers.load_during(options.rate, attacking).await;
        disturbed.push(window);
        attacks.push(findings?);
    }
    callers.wait_for_callbacks(SETTLE_TIMEOUT).await;
    let (mut without, mut with) = (callers.observe(&calm), callers.observe(&disturbed));
    let mut verdict = TrialVerdict::new(name).judging_figures(!options.small);
    judge_loads(&mut verdict, &mut without, &mut with);
    judge_attacks(&mut verdict, &attacks, options, part);
    Ok(verdict)
}

/// What an attack did to the service.
#[derive(Debug)]
struct AttackFindings {
    /// Connections that the service had when all attackers were connected.
    held: usize,
    /// Connections that the service closed to make room.
    shed: f64,
    /// Whether the service closed all connections afterwards.
    is_released: bool,
    figures: Value,
}

async fn attack(
    server: &LongshoredProcess,
    target: SocketAddr,
    options: &ChaosIdleOptions,
    part: IdlePart,
) -> Result<AttackFindings> {
    let pid = server.child.pid().context("serve has exited")?;
    let before = server.scrape_metrics().await?;
    let files = open_files::count_open_files(pid)?;
    let attackers = Attackers::start(target, options.connections);
    let wanted = files + least_held(options, part);
    let is_held = |now: &usize| *now >= wanted;
    let count = async || open_files::count_open_files(pid);
    let all_files = CONNECT_LIMITS.read_until(is_held, count).await?;
    let megabytes = process_memory::resident_megabytes(pid)?;
    tokio::time::sleep(Duration::from_secs(options.seconds)).await;
    let after = server.scrape_metrics().await?;
    let counted = |metric: &str| after.sum(metric) - before.sum(metric);
    let counts = CONNECTION_METRICS.map(|(name, metric)| (name.to_owned(), json!(counted(metric))));
    let counts: Value = counts.into_iter().collect();
    let figures = json!({
        "attackers": attackers.to_json(),
        "serve": {
            "open_files": all_files,
            "open_files_before": files,
            "megabytes": round_to(megabytes, 1),
            "peak_megabytes": round_to(server.peak_megabytes()?, 1),
            "connections": counts,
        },
    });
    drop(attackers);
    let is_released = || {
        let now = open_files::count_open_files(pid);
        now.is_ok_and(|now| now <= files + OPEN_FILES_MARGIN)
    };
    Ok(AttackFindings {
        held: all_files.saturating_sub(files),
        shed: counted("longshore_http_connections_shed_total"),
        is_released: RELEASE_LIMITS.wait_until(is_released).await,
        figures,
    })
}

fn judge_loads(
    verdict: &mut TrialVerdict,
    without: &mut LoadObservation,
    with: &mut LoadObservation,
) {
    let p99 = without.load_p99().zip(with.load_p99());
    let is_alike = p99
        .is_some_and(|(usual, p99)| p99 < usual.max(MIN_USUAL_P99_MILLISECONDS) * MAX_P99_FACTOR);
    judge! { verdict;
        record "without" => loads_to_json(without),
        record "with" => loads_to_json(with),
        record "p99_ratio" => p99.map(|(usual, p99)| round_to(p99 / usual, 2)),
        record "least_usual_p99_milliseconds" => MIN_USUAL_P99_MILLISECONDS,
        check_figure "load p99 stays below twice the usual, or below 10 ms" => is_alike,
    }
    steady_load::judge_acceptance(verdict, "without", without);
    steady_load::judge_acceptance(verdict, "with", with);
}

fn loads_to_json(seen: &mut LoadObservation) -> Value {
    json!({
        "loaded": seen.load_milliseconds.len(),
        "milliseconds": statistics::summarize(&mut seen.load_milliseconds),
        "without_callback": seen.without_callback,
        "refused": seen.refused,
    })
}

/// The connections that show that the attack takes place.
fn least_held(options: &ChaosIdleOptions, part: IdlePart) -> usize {
    let connections = match part {
        IdlePart::Direct | IdlePart::Proxy => options.connections,
        IdlePart::Limit => connection_limit(options),
    };
    connections * 9 / 10
}

fn judge_attacks(
    verdict: &mut TrialVerdict,
    attacks: &[AttackFindings],
    options: &ChaosIdleOptions,
    part: IdlePart,
) {
    let figures: Vec<Value> = attacks.iter().map(|it| it.figures.clone()).collect();
    verdict.record("attacks", figures).check(
        "the service closes all connections after an attack",
        attacks.iter().all(|it| it.is_released),
    );
    if part == IdlePart::Limit {
        // A few connections above the limit exist until they are closed.
        let most = connection_limit(options) * 9 / 8 + OPEN_FILES_MARGIN;
        judge! { verdict;
            check "the service closes connections to make room" =>
                attacks.iter().all(|it| it.shed > 0.0),
            check "the service stays near its limit of connections" =>
                attacks.iter().all(|it| it.held <= most),
        }
    } else {
        let least = least_held(options, part);
        verdict.check(
            "nine of ten attackers hold their connections at once",
            attacks.iter().all(|it| it.held >= least),
        );
    }
}
