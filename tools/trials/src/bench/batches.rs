//! Cargo of many organizations through the batches of a simulated provider, from load to
//! callback.

pub mod account_limits;
pub mod bare_jobs;
pub mod fairness;
pub mod provider_client;
pub mod provider_jobs;
pub mod workload;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use serde_json::{Value, json};

use crate::bench::batches::fairness::{BUSY_ORGANIZATION, LATE_ORGANIZATION};
use crate::bench::batches::provider_client::BenchProviderClient;
use crate::bench::batches::provider_jobs::ProviderJob;
use crate::bench::batches::workload::BatchesWorkload;
use crate::harness::checks::ledger_audit;
use crate::harness::load::callback_log;
use crate::harness::servers::postgres;
use crate::harness::{
    BENCH_MEMORY, ChatQuestion, Deployment, MonitoredProcess, ProcessMonitor, ProviderEnvironment,
    QuestionLoader, Result, TrialAccount, TrialAccounts, TrialVerdict, judge, report_progress,
    round_to, to_f64,
};
use crate::options::{BenchBatchesOptions, CommonOptions};

const MODEL: &str = "trial-openai";
const ACCOUNT: TrialAccount = TrialAccount {
    name: "openai-main",
    kind: "openai",
    shard: None,
    base_path: "openai/v1",
};
/// Workers first ask for a job after a sixth of this. Jobs are visible at once here.
const GRACE_SECONDS: u32 = 12;
const MAX_CONCURRENT_LOADS: usize = 32;
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The bench stops waiting when no callback has arrived for this long.
const CALLBACK_IDLE_TIMEOUT: Duration = Duration::from_mins(2);

pub async fn run(common: &CommonOptions, options: &BenchBatchesOptions) -> Result<TrialVerdict> {
    let shape = BatchesWorkload::from_options(options);
    let mut environment = build_environment(common, &shape).await?;
    let service = &environment.service;
    let callers = QuestionLoader::new(
        service.server()?.address(),
        &service.callers.organizations,
        &service.callback_sink,
    );
    let calm = service.server()?.peak_megabytes()?;

    let busy_cargo = shape.busy_cargo(options.large);
    report_progress(format!(
        "one organization loads {busy_cargo} cargo, another loads one"
    ));
    load_burst(&callers, &shape, busy_cargo, |_| BUSY_ORGANIZATION).await;
    load_burst(&callers, &shape, 1, |_| LATE_ORGANIZATION).await;
    let acknowledged = postgres::read_clock(service.first_shard()?).await?;
    environment.service.start_workers()?;
    let service = &environment.service;
    let watch = ProcessMonitor::start(monitored_processes(&environment)?);
    let used = watch.read_cpu()?;
    let rest = shape.cargo.saturating_sub(busy_cargo + 1);
    report_progress(format!("two workers start; all others load {rest} cargo"));
    let others: Vec<usize> = (0..shape.organizations)
        .filter(|place| ![BUSY_ORGANIZATION, LATE_ORGANIZATION].contains(place))
        .collect();
    let turn = |number: usize| others.get(number % others.len()).copied();
    load_burst(&callers, &shape, rest, |number| {
        turn(number).unwrap_or_default()
    })
    .await;
    report_progress("waiting for callbacks");
    wait_for_callbacks(&callers).await;

    let mut verdict = TrialVerdict::new("bench batches").judging_figures(!options.small);
    verdict
        .record("cargo", shape.cargo)
        .record("organizations", shape.organizations)
        .record("large", options.large);
    judge_answers(&mut verdict, &callers, shape.cargo);
    judge_memory(&mut verdict, &environment, &shape, calm)?;
    verdict.record("cpu_seconds", watch.cpu_since(&used)?);
    fairness::judge(&mut verdict, &callers, service.first_shard()?, acknowledged).await?;
    report_progress("reading the jobs from the provider");
    let jobs = provider_jobs::read_jobs(&environment.simulator, &ACCOUNT).await?;
    let owners = account_limits::find_batch_shards(&service.shards).await?;
    shape.limits.judge(&mut verdict, &jobs, &owners);
    judge_lines(&mut verdict, &jobs, callers.callback_log.count_loaded());
    judge_time(&mut verdict, &environment, &callers, &jobs).await?;
    let successes = || callers.callback_log.count_successes();
    let ledger = ledger_audit::audit_charges(service, successes).await?;
    ledger.judge(&mut verdict);
    verdict.record("settings", service.database_server()?.settings_to_json());
    Ok(verdict)
}

async fn build_environment(
    common: &CommonOptions,
    shape: &BatchesWorkload,
) -> Result<ProviderEnvironment> {
    let accounts = TrialAccounts {
        accounts: &[ACCOUNT],
        limits: &shape.limits.to_toml(GRACE_SECONDS),
        models: &[MODEL],
    };
    let deployment = Deployment::one_serve("", 2).with_organizations(shape.organizations);
    let environment =
        ProviderEnvironment::build(common, accounts, deployment, BENCH_MEMORY).await?;
    let pace = json!({"validating_ms": 500, "running_ms": 1500, "finalizing_ms": 500});
    let faults = json!([
        {"name": "enqueued_limit", "limit": shape.limits.enqueued_tokens},
        // The trial reads the input files after longshored has deleted them.
        {"name": "delete_ignored"},
    ]);
    for (what, value) in [("pace", pace), ("faults", faults)] {
        let path = ACCOUNT.admin_path(what);
        environment
            .simulator
            .call_admin("PUT", &path, Some(&value))
            .await?;
    }
    Ok(environment)
}

/// Sends a load on a connection as soon as the previous one is answered.
async fn load_burst(
    callers: &QuestionLoader,
    shape: &BatchesWorkload,
    count: usize,
    who: impl Fn(usize) -> usize,
) {
    let loads = (0..count).map(|number| {
        let place = who(number);
        async move {
            let question = ChatQuestion {
                model: MODEL,
                system: Some(workload::build_prompt(place, number)),
                text: workload::build_text(place, number, shape.text_bytes),
            };
            callers.load_question(place, &question).await;
        }
    });
    stream::iter(loads)
        .buffer_unordered(MAX_CONCURRENT_LOADS)
        .for_each(|()| async {})
        .await;
}

/// Waits for all callbacks, as long as some still arrive.
async fn wait_for_callbacks(callers: &QuestionLoader) {
    let (mut received, mut since) = (0, Instant::now());
    while !callers.callback_log.is_complete() && since.elapsed() < CALLBACK_IDLE_TIMEOUT {
        tokio::time::sleep(POLL_INTERVAL).await;
        if callers.callback_log.count_received() > received {
            (received, since) = (callers.callback_log.count_received(), Instant::now());
        }
    }
}

fn monitored_processes(environment: &ProviderEnvironment) -> Result<Vec<MonitoredProcess>> {
    let service = &environment.service;
    let mut workers = service.workers().map(|it| it.child.pid());
    let mut worker = || workers.next().flatten();
    let postgres = service.database_server()?.child.pid();
    let all = [
        MonitoredProcess::new("serve", service.server()?.child.pid(), false),
        MonitoredProcess::new("work-1", worker(), false),
        MonitoredProcess::new("work-2", worker(), false),
        MonitoredProcess::new("postgres", postgres, true),
        MonitoredProcess::new("simulator", environment.simulator.child.pid(), false),
        MonitoredProcess::new("trials", Some(std::process::id()), false),
    ];
    Ok(all.into_iter().flatten().collect())
}

fn judge_answers(verdict: &mut TrialVerdict, callers: &QuestionLoader, cargo: usize) {
    let mut sum = callers
        .callback_log
        .summarize(callback_log::find_wrong_answer);
    sum.judge(verdict);
    judge! { verdict;
        record "not_acknowledged" => callers.callback_log.load_log.failures_by_reason(),
        check "every load was acknowledged" => sum.loaded == cargo,
        check "no callback arrived twice" => sum.repeated == 0,
    }
}

/// Workers stream jobs through the disk: peak memory must not depend on the size of a job.
fn judge_memory(
    verdict: &mut TrialVerdict,
    environment: &ProviderEnvironment,
    shape: &BatchesWorkload,
    calm: f64,
) -> Result<()> {
    let serve = environment.service.server()?.peak_megabytes()?;
    let mut working = Vec::new();
    for process in environment.service.workers() {
        working.push(round_to(process.peak_megabytes()?, 1));
    }
    let most = working.iter().copied().fold(0.0, f64::max);
    judge! { verdict;
        record "peak_megabytes" =>
            json!({"serve": round_to(serve, 1), "serve_before": round_to(calm, 1),
                "work": working}),
        check_figure format!("serve grows by at most {} MB", shape.max_server_growth_megabytes) =>
            serve - calm <= shape.max_server_growth_megabytes,
        check_figure format!("work has at most {} MB", shape.max_worker_megabytes) =>
            most <= shape.max_worker_megabytes,
    }
    Ok(())
}

fn judge_lines(verdict: &mut TrialVerdict, jobs: &[ProviderJob], loaded: usize) {
    let mut seen = HashSet::new();
    let lines = jobs.iter().flat_map(|job| &job.lines);
    let again = lines.filter(|line| !seen.insert(line.cargo)).count();
    let (mut switches, mut prompts, mut scattered) = (0, 0, 0);
    for job in jobs {
        let (of_job, different) = job.count_prompt_switches();
        switches += of_job;
        prompts += different;
        scattered += usize::from(of_job + 1 > different);
    }
    verdict
        .record("lines_sent_again", again)
        .record("prompt_switches", switches)
        .record("prompts_of_all_jobs", prompts)
        .record("jobs_with_scattered_prompts", scattered)
        .check("every cargo was sent to the provider", seen.len() == loaded)
        .check("no cargo was sent twice", again == 0)
        .check("equal prompts are adjacent in every job", scattered == 0);
}

/// Compares with the same lines sent in a bare loop without a database.
async fn judge_time(
    verdict: &mut TrialVerdict,
    environment: &ProviderEnvironment,
    callers: &QuestionLoader,
    jobs: &[ProviderJob],
) -> Result<()> {
    let seconds = callers.callback_log.total_seconds();
    report_progress("running the same jobs without the service");
    let bare = BenchProviderClient::new(&environment.simulator, "bare");
    let pace: Value = environment
        .simulator
        .call_admin("GET", &ACCOUNT.admin_path("pace"), None)
        .await?;
    environment
        .simulator
        .call_admin("PUT", "openai/bare/pace", Some(&pace))
        .await?;
    let floor = bare_jobs::measure_seconds(&bare, jobs).await?;
    judge! { verdict;
        record "seconds" => round_to(seconds, 1),
        record "cargo_per_second" => round_to(
            to_f64(callers.callback_log.count_received()) / seconds.max(f64::MIN_POSITIVE),
            0,
        ),
        record "bare_jobs_seconds" => round_to(floor, 1),
        record "to_bare_jobs" => round_to(seconds / floor.max(f64::MIN_POSITIVE), 1),
    }
    Ok(())
}
