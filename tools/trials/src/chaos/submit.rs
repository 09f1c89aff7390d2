//! Workers kill themselves at every failpoint between load and outcome, for every provider.

pub mod accounts;
pub mod duplicate_submissions;
pub mod kill_runner;
pub mod kill_schedule;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use futures::future::try_join_all;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::chaos::submit::accounts::{ACCOUNTS, GRACE_SECONDS, MODELS};
use crate::chaos::submit::duplicate_submissions::SubmissionAudit;
use crate::chaos::submit::kill_runner::KillDeps;
use crate::chaos::submit::kill_schedule::KillSchedule;
use crate::harness::checks::ledger_audit;
use crate::harness::environment::databases;
use crate::harness::load::callback_log;
use crate::harness::load::open_loop;
use crate::harness::{
    ChatQuestion, PollLimits, ProviderEnvironment, QuestionLoader, Result, TrialVerdict, judge,
    report_progress,
};
use crate::options::{ChaosSubmitOptions, CommonOptions};

const LOADS_PER_SECOND: u32 = 24;
const SETTLE_TIMEOUT: Duration = Duration::from_mins(3);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub async fn run(common: &CommonOptions, options: &ChaosSubmitOptions) -> Result<TrialVerdict> {
    let mut environment = accounts::build_environment(common, options.workers).await?;
    let seeds = options.first..options.first + options.seeds;
    let plan = Mutex::new(KillSchedule::new(seeds, options.points));
    let service = &environment.service;
    let callers = QuestionLoader::new(
        service.server()?.address(),
        &service.callers.organizations,
        &service.callback_sink,
    );
    let callers = Arc::new(callers);
    let begun = Instant::now();
    let until = begun + Duration::from_secs(options.minutes * 60);
    report_progress(format!("{} kills are planned", plan.lock().remaining()));
    load_and_kill(&mut environment, &callers, &plan, options, until).await?;
    let seconds = begun.elapsed().as_secs();
    let plan = plan.into_inner();
    report_progress(format!(
        "{} kills in {seconds} s; waiting for completion",
        plan.kill_count()
    ));
    let settling = Instant::now();
    let limits = PollLimits::new(SETTLE_TIMEOUT, POLL_INTERVAL);
    limits
        .wait_until(|| callers.callback_log.is_complete())
        .await;

    let mut verdict = TrialVerdict::new("chaos submit");
    verdict
        .record("seeds", options.seeds)
        .record("workers", options.workers)
        .record("seconds", seconds)
        .record("settling_seconds", settling.elapsed().as_secs());
    judge_kills(&mut verdict, &plan, options);
    judge_answers(&mut verdict, &callers);
    judge_submissions(&mut verdict, &environment).await?;
    let stuck = describe_stuck(&environment).await?;
    if !stuck.is_empty() {
        verdict.record("stuck", stuck);
    }
    let successes = || callers.callback_log.count_successes();
    let ledger = ledger_audit::audit_charges(&environment.service, successes).await?;
    ledger.judge(&mut verdict);
    Ok(verdict)
}

/// Loads until the last kill, and until enough cargo is loaded.
async fn load_and_kill(
    environment: &mut ProviderEnvironment,
    callers: &Arc<QuestionLoader>,
    plan: &Mutex<KillSchedule>,
    options: &ChaosSubmitOptions,
    until: Instant,
) -> Result<()> {
    let shards = environment.service.shards.clone();
    let means = KillDeps {
        schedule: plan,
        simulator: &environment.simulator,
        shards: &shards,
        deadline: until,
    };
    let enough = Notify::new();
    let loading = open_loop::offer_loads(LOADS_PER_SECOND, enough.notified(), |number| {
        let callers = Arc::clone(callers);
        async move { load_one(&callers, number).await }
    });
    let killing = async {
        let working = environment.service.workers_mut();
        let killed = try_join_all(working.map(|one| kill_runner::run_kills(one, means))).await;
        while killed.is_ok() && callers.callback_log.count_loaded() < options.cargo {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        enough.notify_one();
        killed
    };
    let (_, killed) = tokio::join!(loading, killing);
    killed.map(|_| ())
}

/// One load with a text that is unique.
async fn load_one(callers: &QuestionLoader, number: u64) {
    let turn = usize::try_from(number).unwrap_or_default();
    let (count, models) = (callers.organizations.len().max(1), MODELS.len());
    // Every organization loads for every model.
    let organization = callers.organizations.get(turn % count);
    let model = MODELS.get((turn + turn / count) % models);
    let (Some(organization), Some(model)) = (organization, model) else {
        return;
    };
    let text = format!(
        "cargo {number} of {}: what lies in the example?",
        organization.id
    );
    let question = ChatQuestion {
        model,
        system: None,
        text,
    };
    callers.load_question(turn % count, &question).await;
}

fn judge_kills(verdict: &mut TrialVerdict, plan: &KillSchedule, options: &ChaosSubmitOptions) {
    let never = plan.failpoints_never_hit();
    judge! { verdict;
        record "kills" => plan.kill_count(),
        record "points" => plan.count_failpoints_hit(),
        record "kills_by_provider" => plan.kills_by_provider(),
        record "never_killed" => never.clone(),
        record "missed_in_a_seed" => plan.missed().to_vec(),
        record "not_tried" => plan.remaining(),
        check "workers were killed at failpoints" => plan.kill_count() > 0,
        check_figure format!("every failpoint killed a worker within {} min", options.minutes) =>
            never.is_empty() && plan.remaining() == 0,
    }
}

fn judge_answers(verdict: &mut TrialVerdict, callers: &QuestionLoader) {
    callers
        .callback_log
        .summarize(callback_log::find_wrong_answer)
        .judge(verdict);
    judge! { verdict;
        record "not_acknowledged" => callers.callback_log.load_log.failures_by_reason(),
        check "every load was acknowledged" => callers.callback_log.load_log.count_failures() == 0,
    }
}

async fn judge_submissions(
    verdict: &mut TrialVerdict,
    environment: &ProviderEnvironment,
) -> Result<()> {
    let mut seen = SubmissionAudit::default();
    for account in ACCOUNTS {
        let path = account.admin_path("submissions");
        let list = environment.simulator.call_admin("GET", &path, None).await?;
        let grace = TimeDelta::seconds(GRACE_SECONDS.into());
        seen.add_account(account.name, account.is_labelled(), grace, &list)?;
    }
    let attempts = count_attempts(environment).await?;
    verdict
        .record("submissions", seen.submissions)
        .record("jobs", seen.jobs)
        .record("items", seen.items)
        .record("attempts", attempts)
        .record("jobs_without_answer", seen.unanswered)
        .record("unlabelled_sent_again", seen.excused)
        .record("submitted_twice", seen.duplicates.len())
        .check("jobs were created", seen.jobs > 0)
        .check_none("no job was submitted twice", "duplicates", &seen.duplicates)
        // Also if the second job was packed differently from the first.
        .check("no attempt was submitted twice", seen.items <= attempts);
    Ok(())
}

/// The number of attempts of all cargo: each attempt may be in one job.
async fn count_attempts(environment: &ProviderEnvironment) -> Result<u64> {
    let query = "select coalesce(sum(attempt), 0)::bigint from shard.cargo";
    let sums: Vec<(i64,)> = databases::fetch_rows(&environment.service.shards, query).await?;
    let sum = sums.iter().map(|(sum,)| sum).sum::<i64>();
    Ok(u64::try_from(sum).unwrap_or_default())
}

/// Describes how far open cargo has come and which node holds it.
async fn describe_stuck(environment: &ProviderEnvironment) -> Result<Vec<String>> {
    let query = "
        select format('%s: %s: %s', current_database(), count(*), how) from (
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
    let stuck: Vec<(String,)> = databases::fetch_rows(&environment.service.shards, query).await?;
    Ok(stuck.into_iter().map(|(text,)| text).collect())
}
