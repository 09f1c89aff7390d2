//! Workers kill themselves at every point between a load and its outcome, for every provider.

pub mod accounts;
pub mod deaths;
pub mod plan;
pub mod twice;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use futures::future::try_join_all;
use serde_json::json;
use tokio::sync::Notify;

use crate::chaos::audit;
use crate::chaos::submit::accounts::{ACCOUNTS, GRACE, MODELS};
use crate::chaos::submit::deaths::Means;
use crate::chaos::submit::plan::Plan;
use crate::chaos::submit::twice::Seen;
use crate::chaos::traffic;
use crate::failure::{During as _, Result};
use crate::fleet::Fleet;
use crate::fleet::answers;
use crate::fleet::callers::{Callers, Question};
use crate::options::{Common, SubmitOptions};
use crate::progress::say;
use crate::verdict::Verdict;

/// Loads a second.
const RATE: u32 = 24;
const SETTLING: Duration = Duration::from_mins(3);
const LOOK: Duration = Duration::from_millis(200);
/// So many of what is wrong are shown.
const SHOWN: usize = 10;

pub async fn run(common: &Common, options: &SubmitOptions) -> Result<Verdict> {
    let mut fleet = accounts::fleet(common, options.workers).await?;
    let seeds = options.first..options.first + options.seeds;
    let plan = Mutex::new(Plan::new(seeds, options.points));
    let callers = Callers::new(fleet.serving.address(), &fleet.organizations, &fleet.hook);
    let callers = Arc::new(callers);
    let begun = Instant::now();
    let until = begun + Duration::from_secs(options.minutes * 60);
    say(format!("{} deaths are wanted", locked(&plan).left()));
    kill(&mut fleet, &callers, &plan, options, until).await?;
    let seconds = begun.elapsed().as_secs();
    let plan = plan.into_inner().unwrap_or_else(PoisonError::into_inner);
    say(format!("{} kills in {seconds} s; settling", plan.kills()));
    let settling = Instant::now();
    while !callers.book.is_complete() && settling.elapsed() < SETTLING {
        tokio::time::sleep(LOOK).await;
    }

    let mut verdict = Verdict::new("chaos submit");
    verdict
        .note("seeds", options.seeds)
        .note("workers", options.workers)
        .note("seconds", seconds)
        .note("settling_seconds", settling.elapsed().as_secs());
    judge_kills(&mut verdict, &plan, options);
    judge_answers(&mut verdict, &callers);
    judge_submissions(&mut verdict, &fleet).await?;
    let stuck = stuck(&fleet).await?;
    if !stuck.is_empty() {
        verdict.note("stuck", stuck);
    }
    let successes = || i64::try_from(callers.book.successes()).unwrap_or(i64::MAX);
    let books = audit::audit_of(&fleet.longshored, &fleet.shards, successes).await?;
    books.judge(&mut verdict);
    Ok(verdict)
}

/// Loads go on until the last death, and until there were enough.
async fn kill(
    fleet: &mut Fleet,
    callers: &Arc<Callers>,
    plan: &Mutex<Plan>,
    options: &SubmitOptions,
    until: Instant,
) -> Result<()> {
    let means = Means {
        plan,
        simulator: &fleet.simulator,
        shards: &fleet.shards,
        until,
    };
    let enough = Notify::new();
    let loading = traffic::offer(RATE, enough.notified(), |number| {
        let callers = Arc::clone(callers);
        async move { load(&callers, number).await }
    });
    let killing = async {
        let working = fleet.working.iter_mut();
        let killed = try_join_all(working.map(|one| deaths::go_through(one, means))).await;
        while killed.is_ok() && callers.book.asked() < options.cargo {
            tokio::time::sleep(LOOK).await;
        }
        enough.notify_one();
        killed
    };
    let (_, killed) = tokio::join!(loading, killing);
    killed.map(|_| ())
}

/// One load, never repeated, whose answer can be told from every other.
async fn load(callers: &Callers, number: u64) {
    let turn = usize::try_from(number).unwrap_or_default();
    let (count, models) = (callers.organizations.len().max(1), MODELS.len());
    // Every organization loads for every model.
    let organization = callers.organizations.get(turn % count);
    let model = MODELS.get((turn + turn / count) % models);
    let (Some(organization), Some(model)) = (organization, model) else {
        return;
    };
    let text = format!(
        "cargo {number} of {}: what lies in the harbour?",
        organization.id
    );
    let question = Question {
        model,
        system: None,
        text,
    };
    callers.load(turn % count, &question).await;
}

fn judge_kills(verdict: &mut Verdict, plan: &Plan, options: &SubmitOptions) {
    let never = plan.never();
    verdict
        .note("kills", plan.kills())
        .note("points", plan.points())
        .note("kills_by_provider", plan.by_provider())
        .note("never_killed", never.clone())
        .note("missed_in_a_seed", plan.missed().to_vec())
        .note("not_tried", plan.left())
        .promise(
            format!("every point killed within {} min", options.minutes),
            never.is_empty() && plan.left() == 0,
        );
}

fn judge_answers(verdict: &mut Verdict, callers: &Callers) {
    callers.book.sum(answers::wrong).judge(verdict);
    verdict
        .note("not_acknowledged", callers.refused.failures())
        .promise("every load was acknowledged", callers.refused.failed() == 0);
}

async fn judge_submissions(verdict: &mut Verdict, fleet: &Fleet) -> Result<()> {
    let mut seen = Seen::default();
    for account in ACCOUNTS {
        let path = account.path("submissions");
        let list = fleet.simulator.ask("GET", &path, None).await?;
        let grace = TimeDelta::seconds(GRACE.into());
        seen.add(account.name, account.is_labelled(), grace, &list)?;
    }
    let shown: Vec<&String> = seen.twice.iter().take(SHOWN).collect();
    let attempts = attempts(fleet).await?;
    verdict
        .note("submissions", seen.submissions)
        .note("jobs", seen.jobs)
        .note("items", seen.items)
        .note("attempts", attempts)
        .note("jobs_nobody_was_told_of", seen.unheard)
        .note("unlabelled_sent_again", seen.excused)
        .note("submitted_twice", seen.twice.len())
        .promise("jobs were created", seen.jobs > 0)
        .promise("no job was submitted twice", seen.twice.is_empty())
        // Also when the second job was put together otherwise than the first.
        .promise("no attempt was submitted twice", seen.items <= attempts);
    if !shown.is_empty() {
        verdict.note("twice", json!(shown));
    }
    Ok(())
}

/// How often any cargo was on its way: each time it may be in one job.
async fn attempts(fleet: &Fleet) -> Result<u64> {
    let mut attempts = 0;
    for (_, pool) in &fleet.shards {
        let query = "select coalesce(sum(attempt), 0)::bigint from shard.cargo";
        let sum = sqlx::query_scalar::<_, i64>(query).fetch_one(pool).await;
        attempts += u64::try_from(sum.during("counting attempts")?).unwrap_or_default();
    }
    Ok(attempts)
}

/// Says of what is open how far it has come and who holds it.
async fn stuck(fleet: &Fleet) -> Result<Vec<String>> {
    let query = "
        select format('%s: %s', count(*), how) from (
            select concat_ws(', ', lane.provider, 'attempt ' || cargo.attempt,
                case when waiting.cargo is not null then 'waiting' end,
                'batch ' || batch.id || ' ' || batch.state,
                'sent ' || batch.sent_at, 'looks ' || batch.looks, 'next ' || batch.next_poll_at,
                'takeovers ' || batch.takeovers, 'node ' || batch.node) as how
            from shard.cargo
            left join shard.waiting on waiting.cargo = cargo.id
            left join shard.batch on batch.id = cargo.batch
            left join shard.lane on lane.id = cargo.lane
            where cargo.completed_at is null) open
        group by how order by count(*) desc limit 20";
    let mut stuck = Vec::new();
    for (name, pool) in &fleet.shards {
        let rows = sqlx::query_scalar::<_, String>(query).fetch_all(pool).await;
        let rows = rows.during("looking at what is stuck")?;
        stuck.extend(rows.into_iter().map(|row| format!("{name}: {row}")));
    }
    Ok(stuck)
}

fn locked(plan: &Mutex<Plan>) -> std::sync::MutexGuard<'_, Plan> {
    plan.lock().unwrap_or_else(PoisonError::into_inner)
}
