//! Three PostgreSQL servers with Patroni: the primary's server is killed, frozen or cut off under
//! load, and another one takes over.

pub mod failover_rounds;
pub mod lost_cargo;
pub mod tracking_watch;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::chaos::failover::failover_rounds::{FailoverRound, FailoverRounds};
use crate::chaos::failover::tracking_watch::TrackingAnswers;
use crate::harness::checks::completion;
use crate::harness::load::open_loop;
use crate::harness::measurement::statistics;
use crate::harness::{
    BaseEnvironment, Deployment, FailureContext as _, OfferedRate, PatroniCluster, PatroniTimes,
    Result, SHARD, ScratchFolder, TrialEnvironment, TrialFailure, TrialVerdict, judge,
    report_progress,
};
use crate::options::{ChaosFailoverOptions, CommonOptions};

const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Loads must be accepted again by then, counted from the fault.
const MAX_SECONDS_WITHOUT_ACCEPTED: f64 = 45.0;
/// The check of doctor that says whether commits wait for a standby.
const STANDBY_CHECK: &str = "standbys";

pub async fn run(common: &CommonOptions, options: &ChaosFailoverOptions) -> Result<TrialVerdict> {
    let scratch = Arc::new(ScratchFolder::new()?);
    report_progress("starting three PostgreSQL servers with Patroni");
    let times = PatroniTimes {
        ttl: options.ttl,
        is_synchronous: !options.asynchronous,
    };
    let mut cluster = PatroniCluster::start(&scratch, times).await?;
    let environment = start_environment(common, options, &scratch, &cluster).await?;
    let standby_finding = read_standby_finding(&environment).await?;
    let callers = Arc::clone(&environment.callers);

    let tracking = TrackingAnswers::default();
    let load = open_loop::unbalanced_load(&callers);
    let rounds = FailoverRounds {
        cluster: &mut cluster,
        callers: &callers,
        options,
    };
    let offering = open_loop::offer_loads_during(options.rate, load, rounds.run());
    let (offered, rounds) = tokio::select! {
        offered = offering => offered,
        () = tracking_watch::watch_tracking(&callers, &tracking) => {
            return Err(TrialFailure::new("the watch of tracking ended unexpectedly"));
        }
    };
    let rounds = rounds?;
    cluster.check_running()?;
    let mut environment = environment;
    for process in &mut environment.processes {
        process.child.check_running()?;
    }

    let mut verdict = TrialVerdict::new("chaos failover");
    if options.asynchronous {
        let left = lost_cargo::wait_for_what_is_left(&environment, SETTLE_TIMEOUT).await?;
        left.judge(&mut verdict);
    } else {
        report_progress("waiting for completion");
        let settled =
            completion::wait_for_completion_tracking(&environment, SETTLE_TIMEOUT, usize::MAX);
        settled.await?.judge(&callers, &mut verdict);
    }
    judge_rounds(&environment, &rounds, &mut verdict);
    judge_answers(&environment, offered, options, &mut verdict);
    tracking.judge(options.asynchronous, &mut verdict);
    let is_ok = standby_finding == "ok";
    judge! { verdict;
        record "asynchronous" => options.asynchronous,
        record "ttl_seconds" => options.ttl,
        record "doctor_says_of_standbys" => standby_finding,
        check "doctor warns before, if and only if commits wait for no standby" =>
            is_ok != options.asynchronous,
    }
    Ok(verdict)
}

/// Two processes that serve and two that work, with all servers in the addresses of the databases.
async fn start_environment(
    common: &CommonOptions,
    options: &ChaosFailoverOptions,
    scratch: &Arc<ScratchFolder>,
    cluster: &PatroniCluster,
) -> Result<TrialEnvironment> {
    cluster.create_databases().await?;
    let shards = vec![(SHARD.to_owned(), cluster.pool(SHARD))];
    let scratch = Arc::clone(scratch);
    let mut base = BaseEnvironment::on_databases(scratch, common, cluster.urls(), shards).await?;
    if !options.asynchronous {
        base.longshored.set("DURABILITY", "replicated");
    }
    let mut deployment = Deployment::two_serve_three_work();
    deployment.processes.pop();
    TrialEnvironment::start(base, deployment).await
}

/// The state of doctor's finding about synchronous standbys of the shard.
async fn read_standby_finding(environment: &TrialEnvironment) -> Result<String> {
    let answer = environment.longshored.run_to_end(&["doctor", "--json"]);
    let stdout = answer.await?.stdout;
    let report: Value = serde_json::from_str(&stdout).context("reading the report of doctor")?;
    let findings = report.get("findings").and_then(Value::as_array);
    let finding = findings.into_iter().flatten().find(|finding| {
        let check = finding.get("check").and_then(Value::as_str);
        check == Some(STANDBY_CHECK)
    });
    let state = finding.and_then(|finding| finding.get("state")?.as_str());
    let state = state.context(format!("doctor says nothing of {STANDBY_CHECK}: {stdout}"))?;
    Ok(state.to_owned())
}

fn judge_rounds(
    environment: &TrialEnvironment,
    rounds: &[FailoverRound],
    verdict: &mut TrialVerdict,
) {
    let gaps = rounds.iter();
    let gaps: Vec<f64> = gaps
        .map(|round| round.seconds_without_accepted(&environment.callers.load_log))
        .collect();
    let described = rounds.iter().zip(&gaps).map(|(round, gap)| {
        json!({
            "fault": round.fault.name(),
            "seconds_to_primary": statistics::round_to(round.seconds_to_primary, 1),
            "seconds_without_202": statistics::round_to(*gap, 1),
            "seconds_to_whole_cluster": statistics::round_to(round.seconds_to_whole_cluster, 1),
        })
    });
    judge! { verdict;
        record "rounds" => described.collect::<Value>(),
        record "longest_seconds_without_202" =>
            gaps.iter().copied().reduce(f64::max).map(|it| statistics::round_to(it, 1)),
        check "a primary was lost" => !rounds.is_empty(),
        check_figure "loads are answered 202 again within 45 s of each fault" =>
            gaps.iter().all(|gap| *gap <= MAX_SECONDS_WITHOUT_ACCEPTED),
    }
}

fn judge_answers(
    environment: &TrialEnvironment,
    offered: OfferedRate,
    options: &ChaosFailoverOptions,
    verdict: &mut TrialVerdict,
) {
    let answers = environment.callers.load_log.failures_by_reason();
    let answers = answers.as_object().into_iter().flatten();
    let others: Vec<&String> = answers
        .map(|(answer, _)| answer)
        .filter(|answer| answer.as_str() != "503")
        .collect();
    judge! { verdict;
        record "offered" => offered.loads,
        record "offered_per_second" => statistics::round_to(offered.per_second, 1),
        record "answers_besides_202_and_503" => json!(others),
        check "every load is answered 202 or 503" => others.is_empty(),
        check_figure "loads are offered at the rate" =>
            offered.per_second >= f64::from(options.rate) * 0.99,
    }
}
