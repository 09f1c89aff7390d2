//! Runs each worker with one failpoint armed; when it has killed itself, starts it with the
//! next one.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::PgPool;
use uuid::Uuid;

use crate::chaos::submit::accounts::{ACCOUNTS, account_faults};
use crate::chaos::submit::kill_schedule::{KillSchedule, PlannedKill};
use crate::harness::build_profile;
use crate::harness::{
    FailureContext as _, LongshoredProcess, Result, SimulatorProcess, report_progress,
};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A worker that is alive after this is killed, and its failpoint is tried again later.
const KILL_TIMEOUT: Duration =
    build_profile::choose(Duration::from_mins(1), Duration::from_secs(30));
/// A lost submission is found missing only after the grace.
const RARE_KILL_TIMEOUT: Duration = build_profile::extend_timeout(Duration::from_mins(1));
/// How often the trial provokes a rare failpoint.
const PROVOKE_INTERVAL: Duration = Duration::from_secs(8);
const KILL_SETTING: &str = "CHAOS_KILL";
const SIGKILL: i32 = 9;

#[derive(Debug, Clone, Copy)]
pub struct KillDeps<'a> {
    pub schedule: &'a Mutex<KillSchedule>,
    pub simulator: &'a SimulatorProcess,
    pub shards: &'a [(String, PgPool)],
    /// No kill starts after this.
    pub deadline: Instant,
}

/// Restarts the process until no kill is left; then starts it without a failpoint.
pub async fn run_kills(process: &mut LongshoredProcess, means: KillDeps<'_>) -> Result<()> {
    while Instant::now() < means.deadline
        && let Some(wanted) = with_schedule(means.schedule, KillSchedule::next_kill)
    {
        process.set(KILL_SETTING, &wanted.setting());
        process.start()?;
        if wait_for_kill(process, &wanted, means).await? {
            with_schedule(means.schedule, |plan| plan.record_kill(&wanted));
        } else {
            process.child.kill();
            report_progress(format!("no worker was killed at {}", wanted.setting()));
            with_schedule(means.schedule, |plan| plan.reschedule(wanted));
        }
        let (kills, left) =
            with_schedule(means.schedule, |plan| (plan.kill_count(), plan.remaining()));
        if kills.is_multiple_of(20) {
            report_progress(format!("{kills} kills, {left} left"));
        }
    }
    process.set(KILL_SETTING, "");
    process.start()
}

async fn wait_for_kill(
    process: &mut LongshoredProcess,
    wanted: &PlannedKill,
    means: KillDeps<'_>,
) -> Result<bool> {
    let patience = if wanted.needs_lost_submission() || wanted.needs_cancel() {
        RARE_KILL_TIMEOUT
    } else {
        KILL_TIMEOUT
    };
    let begun = Instant::now();
    let mut occasion_at = begun;
    while begun.elapsed() < patience {
        if let Some(status) = process.child.exit_status() {
            if status.signal() == Some(SIGKILL) {
                return Ok(true);
            }
            let what = format!("exited unexpectedly: {status}");
            return Err(process.child.failure(&what));
        }
        if Instant::now() >= occasion_at {
            occasion_at += PROVOKE_INTERVAL;
            provoke_failpoint(wanted, means).await?;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(false)
}

/// Provokes failpoints that a normal submission does not reach.
async fn provoke_failpoint(wanted: &PlannedKill, means: KillDeps<'_>) -> Result<()> {
    if wanted.needs_lost_submission() {
        // Sets the count instead of adding to it: unused losses would delay later submissions.
        let lost = account_faults(1);
        let accounts = ACCOUNTS
            .iter()
            .filter(|it| it.name.starts_with(wanted.provider));
        for account in accounts {
            let path = account.admin_path("faults");
            means
                .simulator
                .call_admin("PUT", &path, Some(&lost))
                .await?;
        }
    }
    if wanted.needs_cancel() {
        for (_, pool) in means.shards {
            request_one_cancel(pool, wanted.provider).await?;
        }
    }
    Ok(())
}

/// The service does this itself when cargo runs out of time, hours from now.
async fn request_one_cancel(pool: &PgPool, provider: &str) -> Result<()> {
    let query = "
        update shard.batch set cancel_wanted_at = now()
        where id = (
            select batch.id from shard.batch join shard.lane on lane.id = batch.lane
            where state in ('submitting', 'running') and cancel_wanted_at is null
                and starts_with(lane.provider, $1)
            order by gathered_at desc limit 1)
        returning id";
    let wanted = sqlx::query_scalar::<_, Uuid>(query).bind(provider);
    let wanted = wanted.fetch_optional(pool).await;
    wanted.context("requesting a cancel").map(|_| ())
}

fn with_schedule<T>(plan: &Mutex<KillSchedule>, what: impl FnOnce(&mut KillSchedule) -> T) -> T {
    what(&mut plan.lock())
}
