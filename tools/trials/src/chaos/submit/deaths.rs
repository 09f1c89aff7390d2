//! Each working process has a death before it; when it is gone, the next one is started.

use std::os::unix::process::ExitStatusExt as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::PgPool;
use uuid::Uuid;

use crate::chaos::submit::accounts::{ACCOUNTS, faults};
use crate::chaos::submit::plan::{Plan, Wanted};
use crate::failure::{During as _, Failure, Result};
use crate::process::Process;
use crate::progress::say;
use crate::simulator::Simulator;

const LOOK: Duration = Duration::from_millis(50);
/// Who has not died by now is killed, and the point is tried again later.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is looked for is found missing only after the grace.
const LONG_PATIENCE: Duration = Duration::from_mins(1);
/// How often the occasion for a rare point is made.
const OCCASION: Duration = Duration::from_secs(8);
const SETTING: &str = "CHAOS_KILL";
const SIGKILL: i32 = 9;

/// What deaths need besides the processes.
#[derive(Debug, Clone, Copy)]
pub struct Means<'a> {
    pub plan: &'a Mutex<Plan>,
    pub simulator: &'a Simulator,
    pub shards: &'a [(String, PgPool)],
    /// Beyond this nobody is started to die.
    pub until: Instant,
}

/// Starts the process again and again until no death is wanted any more; then it lives.
pub async fn go_through(process: &mut Process, means: Means<'_>) -> Result<()> {
    while Instant::now() < means.until
        && let Some(wanted) = with(means.plan, Plan::take)
    {
        process.set(SETTING, &wanted.setting());
        process.start()?;
        if died(process, &wanted, means).await? {
            with(means.plan, |plan| plan.died(&wanted));
        } else {
            process.kill();
            say(format!("nobody died at {}", wanted.setting()));
            with(means.plan, |plan| plan.lived(wanted));
        }
        let (kills, left) = with(means.plan, |plan| (plan.kills(), plan.left()));
        if kills.is_multiple_of(20) {
            say(format!("{kills} kills, {left} to come"));
        }
    }
    process.set(SETTING, "");
    process.start()
}

async fn died(process: &mut Process, wanted: &Wanted, means: Means<'_>) -> Result<bool> {
    let patience = if wanted.needs_a_loss() || wanted.needs_a_cancel() {
        LONG_PATIENCE
    } else {
        PATIENCE
    };
    let begun = Instant::now();
    let mut occasion_at = begun;
    while begun.elapsed() < patience {
        if let Some(status) = process.ended() {
            if status.signal() == Some(SIGKILL) {
                return Ok(true);
            }
            let words = process.last_words();
            let text = format!("longshored ended by itself: {status}\n{words}");
            return Err(Failure::new(text));
        }
        if Instant::now() >= occasion_at {
            occasion_at += OCCASION;
            occasion(wanted, means).await?;
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(false)
}

/// Points that the usual way does not pass are given a reason.
async fn occasion(wanted: &Wanted, means: Means<'_>) -> Result<()> {
    if wanted.needs_a_loss() {
        // Set, not added: what is lost in vain holds up those that come after.
        let lost = faults(1);
        let accounts = ACCOUNTS
            .iter()
            .filter(|it| it.name.starts_with(wanted.provider));
        for account in accounts {
            let path = account.path("faults");
            means.simulator.ask("PUT", &path, Some(&lost)).await?;
        }
    }
    if wanted.needs_a_cancel() {
        for (_, pool) in means.shards {
            cancel_one(pool, wanted.provider).await?;
        }
    }
    Ok(())
}

/// What the service does itself when cargo runs out of time, hours from now.
async fn cancel_one(pool: &PgPool, provider: &str) -> Result<()> {
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
    wanted.during("wanting a job cancelled").map(|_| ())
}

fn with<T>(plan: &Mutex<Plan>, what: impl FnOnce(&mut Plan) -> T) -> T {
    what(&mut plan.lock().unwrap_or_else(PoisonError::into_inner))
}
