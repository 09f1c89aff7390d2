//! The database's disk is full for a while, under load.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::harness::checks::completion;
use crate::harness::load::load_log;
use crate::harness::load::open_loop;
use crate::harness::measurement::statistics;
use crate::harness::{
    BaseEnvironment, DatabaseLayout, Deployment, FailureContext as _, LoadLog, LoadRecord,
    PollLimits, ProcessSpec, Result, ScratchFolder, SmallDisk, TrialEnvironment,
    TrialPostgresServer, TrialVerdict, judge, report_progress, round_to,
};
use crate::options::{ChaosOverloadOptions, CommonOptions};

const DISK_MEGABYTES: u64 = 320;
const LOADS_PER_SECOND: u32 = 60;
const BEFORE_FILL: Duration = Duration::from_secs(5);
const MAX_FULL_TIME: Duration = Duration::from_secs(25);
/// Loads must be accepted again by then.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(10);
const AFTER_RECOVERY: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// PostgreSQL notices a full disk when its log or a table next grows.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(10);
const SETTLE_TIMEOUT: Duration = Duration::from_mins(2);

/// When the disk was full.
#[derive(Debug, Clone, Copy)]
struct DiskOutage {
    full_at: Instant,
    freed_at: Instant,
    server_up_at: Instant,
    ended_at: Instant,
    /// PostgreSQL had exited and was started again.
    was_restarted: bool,
}

pub(super) async fn run(
    common: &CommonOptions,
    options: &ChaosOverloadOptions,
) -> Result<TrialVerdict> {
    let scratch = Arc::new(ScratchFolder::new()?);
    report_progress("starting PostgreSQL on a small disk, and Redis");
    let disk = SmallDisk::mount(scratch.join("small-disk"), DISK_MEGABYTES)?;
    let data = disk.path().to_owned();
    let postgres = TrialPostgresServer::create_small(&scratch, "small", data).await?;
    let (layout, servers) = (DatabaseLayout::SharedServer, vec![postgres]);
    let base = BaseEnvironment::on_servers(scratch, common, layout, servers).await?;
    let deployment = Deployment::new([
        ProcessSpec::new("serve", "serve"),
        ProcessSpec::new("work", "work-1"),
        ProcessSpec::new("work", "work-2"),
    ]);
    let mut environment = TrialEnvironment::start(base, deployment).await?;

    let length = Duration::from_secs(options.seconds).min(MAX_FULL_TIME);
    let load = open_loop::load_each_in_turn(&environment.callers);
    let injection = fill_and_free(&mut environment, &disk, length);
    let (_, outage) = open_loop::offer_loads_during(LOADS_PER_SECOND, load, injection).await;
    let outage = outage?;
    report_progress("waiting for completion");
    let settled = completion::wait_for_completion(&environment, SETTLE_TIMEOUT).await?;

    let mut verdict = TrialVerdict::new("disk");
    settled.judge(&environment.callers, &mut verdict);
    judge(&mut verdict, &environment.callers.load_log, outage);
    // The server must stop before its disk is unmounted.
    drop(environment);
    drop(disk);
    Ok(verdict)
}

async fn fill_and_free(
    environment: &mut TrialEnvironment,
    disk: &SmallDisk,
    length: Duration,
) -> Result<DiskOutage> {
    tokio::time::sleep(BEFORE_FILL).await;
    let full = Instant::now();
    let bytes = disk.fill()?;
    report_progress(format!("the disk is full with {} MB", bytes >> 20));
    // Also fills the space that the server frees meanwhile.
    while full.elapsed() < length {
        tokio::time::sleep(Duration::from_secs(1)).await;
        disk.fill()?;
    }
    disk.free()?;
    let freed = Instant::now();
    report_progress("the disk has space again");
    let postgres = environment.postgres.first_mut();
    let postgres = postgres.context("no database server is running")?;
    // A server that could not write its log has exited: its supervisor starts it again.
    let restarted = !postgres.child.is_running();
    if restarted {
        postgres.start().await?;
    }
    let back = Instant::now();
    tokio::time::sleep(RECOVERY_TIMEOUT + AFTER_RECOVERY).await;
    let loads = &environment.callers.load_log;
    let is_accepted = |load: &LoadRecord| load.is_accepted() && load.began_at >= freed;
    let limits = PollLimits::new(RECOVERY_TIMEOUT, POLL_INTERVAL);
    limits.wait_until(|| loads.count(is_accepted) > 0).await;
    Ok(DiskOutage {
        full_at: full,
        freed_at: freed,
        server_up_at: back,
        ended_at: Instant::now(),
        was_restarted: restarted,
    })
}

fn judge(verdict: &mut TrialVerdict, loads: &LoadLog, outage: DiskOutage) {
    let meanwhile = loads.between(outage.full_at, outage.freed_at);
    let noticed = loads.between(outage.full_at + NOTICE_TIMEOUT, outage.freed_at);
    let afterwards = loads.between(outage.server_up_at + RECOVERY_TIMEOUT, outage.ended_at);
    let mut refusals = load_log::milliseconds_where(&meanwhile, LoadRecord::is_refused);
    let first = meanwhile.iter().filter(|load| load.is_refused());
    let first = first.map(|load| load.ended_at() - outage.full_at).min();
    let others = loads.between(outage.full_at, outage.ended_at);
    let others = others
        .iter()
        .filter(|load| !load.is_accepted() && !load.is_refused());
    let works = loads.between(outage.freed_at, outage.ended_at);
    let works = works.iter().filter(|load| load.is_accepted());
    let works = works
        .map(|load| load.ended_at() - outage.server_up_at)
        .min();
    let seconds = |duration: Option<Duration>| duration.map(|it| round_to(it.as_secs_f64(), 2));
    judge! { verdict;
        record "full_answers" => load_log::count_answers(&meanwhile),
        record "refused_milliseconds" => statistics::summarize(&mut refusals),
        record "first_refusal_after_seconds" => seconds(first),
        record "works_after_seconds" => seconds(works),
        record "server_was_restarted" => outage.was_restarted,
        check "loads were refused while the disk was full" => first.is_some(),
        check_figure "loads are refused while the disk is full" =>
            noticed.is_empty() || noticed.iter().any(LoadRecord::is_refused),
        check "every answer is 202 or 503" => others.count() == 0,
        check "loads are accepted again" => works.is_some(),
        check_figure "loads are accepted again within 10 s" =>
            !afterwards.is_empty() && afterwards.iter().all(LoadRecord::is_accepted),
    }
}
