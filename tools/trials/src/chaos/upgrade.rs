//! The version before and this version on one database, under load, through each migration: the
//! processes are replaced one by one, and then the upgrade is rolled back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub mod schema_versions;
pub mod stored_cargo;

use crate::harness::checks::completion;
use crate::harness::load::open_loop;
use crate::harness::measurement::statistics;
use crate::harness::{
    BaseEnvironment, ChaosCallers, CompletionReport, DatabaseLayout, Deployment, LongshoredProcess,
    LongshoredProgram, ProcessSpec, Result, TrialEnvironment, TrialFailure, TrialVerdict, judge,
    report_progress,
};
use crate::options::{ChaosUpgradeOptions, CommonOptions};
use schema_versions::SchemaVersions;

/// What a caller may wait for the answer to a load.
const MAX_LOAD_TIME: Duration = Duration::from_secs(1);
const SETTLE_TIMEOUT: Duration = Duration::from_mins(2);
/// Between two processes that stop: load balancers and leases follow.
const PAUSE_BETWEEN_PROCESSES: Duration = Duration::from_secs(1);
/// In the verdict, when no other version is built.
const THIS_BUILD: &str = "this build";

pub async fn run(common: &CommonOptions, options: &ChaosUpgradeOptions) -> Result<TrialVerdict> {
    let mut environment = start_version_before(common, options).await?;
    let mut after = environment.longshored.clone();
    after.set_path(&common.longshored);
    environment.longshored = after.clone();
    let mut upgrade = Upgrade::new(&mut environment, after, options)?;
    if options.before_program.is_none() {
        upgrade.versions.reopen_steps().await?;
    }
    let callers = Arc::clone(&environment.callers);
    // What the load balancer does not reach, it does not use.
    for client in &callers.clients {
        client.check_ready().await;
    }
    let upgrading = open_loop::offer_loads_during(
        options.rate,
        open_loop::balanced_load(&callers),
        upgrade.run(),
    );
    let (offered, upgraded) = tokio::select! {
        upgraded = upgrading => upgraded,
        () = open_loop::run_balancer(&callers) => return Err(TrialFailure::new("the load balancer ended unexpectedly")),
    };
    let rollback = upgraded?;
    report_progress("waiting for completion");
    let settled = completion::wait_for_completion(&environment, SETTLE_TIMEOUT).await?;
    let mut verdict = TrialVerdict::new("chaos upgrade").judging_figures(!options.small);
    let before = options.before.as_deref().unwrap_or(THIS_BUILD);
    verdict
        .record("before", before)
        .record("stored", options.cargo)
        .record("offered", offered.loads)
        .record("rollback", rollback)
        .record("phases", upgrade.describe_phases(&callers));
    judge_loads(&callers, &settled, &mut verdict);
    Ok(verdict)
}

fn judge_loads(callers: &ChaosCallers, settled: &CompletionReport, verdict: &mut TrialVerdict) {
    settled.judge(callers, verdict);
    let log = &callers.load_log;
    log.judge_acceptance(verdict);
    let slow = log.count(|load| load.duration > MAX_LOAD_TIME);
    let mut times = load_times(callers, |_| true);
    judge! { verdict;
        record "slow" => slow,
        record "load_ms" => statistics::summarize(&mut times),
        check_figure "no load slower than 1 s" => slow == 0,
        check "no duplicate callback" => callers.receipts.count_duplicates() == 0,
    }
}

/// Milliseconds of the loads that began then.
fn load_times(callers: &ChaosCallers, is_wanted: impl Fn(Instant) -> bool) -> Vec<f64> {
    let loads = callers.load_log.select(|load| is_wanted(load.began_at));
    let times = loads.iter().map(|load| load.duration);
    times.map(statistics::to_milliseconds).collect()
}

/// Databases with the schema of the version before and its rows, and two `serve` and two `work` of
/// it.
async fn start_version_before(
    common: &CommonOptions,
    options: &ChaosUpgradeOptions,
) -> Result<TrialEnvironment> {
    let mut before = common.clone();
    if let Some(program) = &options.before_program {
        before.longshored.clone_from(program);
    }
    let layout = DatabaseLayout::SingleShard;
    let base = BaseEnvironment::build_for_chaos(&before, layout).await?;
    stored_cargo::store(&base, options.cargo).await?;
    let deployment = Deployment::new(process_specs("before"))
        .with_long_redis_budget()
        .with_long_drain_grace();
    TrialEnvironment::start(base, deployment).await
}

fn process_specs(version: &str) -> Vec<ProcessSpec> {
    let names = [("serve", 1), ("serve", 2), ("work", 1), ("work", 2)];
    let specs =
        names.map(|(verb, number)| ProcessSpec::new(verb, format!("{version}-{verb}-{number}")));
    specs.into()
}

/// A part of the upgrade, from a moment until the next part.
#[derive(Debug)]
struct UpgradePhase {
    name: String,
    began_at: Instant,
}

/// The processes of both versions; those that serve come first.
struct Upgrade {
    before: Vec<LongshoredProcess>,
    after: Vec<LongshoredProcess>,
    program: LongshoredProgram,
    versions: SchemaVersions,
    side_by_side: Duration,
    phases: Vec<UpgradePhase>,
}

impl Upgrade {
    /// Callers reach the processes of both versions from now on.
    fn new(
        environment: &mut TrialEnvironment,
        program: LongshoredProgram,
        options: &ChaosUpgradeOptions,
    ) -> Result<Self> {
        let before = std::mem::take(&mut environment.processes);
        let after = process_specs("after").into_iter();
        let after = after.map(|spec| program.new_process(spec.verb, &spec.name));
        let after = after.collect::<Result<Vec<_>>>()?;
        let serving = before.iter().chain(&after);
        let serving = serving.filter(|process| process.serves_callers());
        let callers = ChaosCallers::new(
            environment.callers.organizations.clone(),
            serving.map(LongshoredProcess::address),
            &Deployment::new(Vec::new()).models,
            &environment.callback_sink,
        );
        environment.callers = Arc::new(callers);
        Ok(Self {
            before,
            after,
            program,
            versions: SchemaVersions::new(environment)?,
            side_by_side: Duration::from_secs(options.seconds),
            phases: Vec::new(),
        })
    }

    fn begin_phase(&mut self, name: impl Into<String>) {
        let name = name.into();
        report_progress(&name);
        let began_at = Instant::now();
        self.phases.push(UpgradePhase { name, began_at });
    }

    /// Returns what became of the rollback.
    async fn run(&mut self) -> Result<String> {
        self.begin_phase("the version before");
        tokio::time::sleep(self.side_by_side).await;
        let old_schema = self.versions.read().await?;
        self.migrate().await?;
        self.begin_phase("both versions");
        start_all(&mut self.after).await?;
        tokio::time::sleep(self.side_by_side).await;
        self.begin_phase("the version before stops");
        stop_all(&mut self.before).await?;
        let new_schema = self.versions.read().await?;
        if !old_schema.supports(&new_schema) {
            let ahead = new_schema.describe_distance(&old_schema);
            return Ok(format!("not supported by the version before: {ahead}"));
        }
        self.begin_phase("rollback: both versions");
        start_all(&mut self.before).await?;
        tokio::time::sleep(self.side_by_side).await;
        self.begin_phase("rollback: this version stops");
        stop_all(&mut self.after).await?;
        tokio::time::sleep(self.side_by_side).await;
        self.begin_phase("both versions again");
        start_all(&mut self.after).await?;
        tokio::time::sleep(self.side_by_side).await;
        Ok("done".to_owned())
    }

    /// Applies one migration of each schema at a time, then everything else.
    async fn migrate(&mut self) -> Result<()> {
        let mut applied = self.versions.read().await?;
        loop {
            self.begin_phase("a migration");
            self.program.run(&["migrate", "--at-most", "1"]).await?;
            let now = self.versions.read().await?;
            if now == applied {
                self.phases.pop();
                break;
            }
            if let Some(phase) = self.phases.last_mut() {
                phase.name = format!("migration to {}", now.describe());
            }
            tokio::time::sleep(PAUSE_BETWEEN_PROCESSES).await;
            applied = now;
        }
        self.begin_phase("online steps");
        let output = self.program.run(&["migrate"]).await?;
        report_progress(output.trim_end());
        self.program.run(&["migrate", "--status"]).await.map(drop)
    }

    /// Each part with its length and its slowest load.
    fn describe_phases(&self, callers: &ChaosCallers) -> Value {
        let ends = self.phases.iter().skip(1).map(|phase| Some(phase.began_at));
        let ends = ends.chain([None]);
        let phases = self.phases.iter().zip(ends).map(|(phase, end)| {
            let is_within = |at| at >= phase.began_at && end.is_none_or(|end| at < end);
            let slowest = load_times(callers, is_within)
                .into_iter()
                .fold(0.0, f64::max);
            let end = end.unwrap_or_else(Instant::now);
            let seconds = (end - phase.began_at).as_secs_f64();
            json!({
                "part": phase.name,
                "seconds": statistics::round_to(seconds, 1),
                "slowest_load_ms": statistics::round_to(slowest, 1),
            })
        });
        phases.collect()
    }
}

/// One after the other; those that serve accept traffic when this returns.
async fn start_all(processes: &mut [LongshoredProcess]) -> Result<()> {
    for process in processes {
        process.start()?;
        if process.serves_callers() {
            process.wait_until_ready().await?;
        }
    }
    Ok(())
}

/// One after the other, gracefully. First those that work: the other version takes over.
async fn stop_all(processes: &mut [LongshoredProcess]) -> Result<()> {
    for process in processes.iter_mut().rev() {
        process.terminate().await?;
        tokio::time::sleep(PAUSE_BETWEEN_PROCESSES).await;
    }
    Ok(())
}
