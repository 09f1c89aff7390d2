//! Callers cancel a group, and single cargo of it, while workers gather, submit and collect.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::batches::account_limits::BenchAccountLimits;
use crate::bench::batches::provider_jobs;
use crate::chaos::cancel::group::CancelledGroup;
use crate::harness::checks::ledger_audit;
use crate::harness::environment::databases;
use crate::harness::http::load_request;
use crate::harness::load::callback_log;
use crate::harness::{
    CHAOS_MEMORY, ChatQuestion, Deployment, FailureContext as _, PollLimits, ProviderEnvironment,
    QuestionLoader, Result, ServiceClient, TrialAccount, TrialAccounts, TrialEnvironment,
    TrialVerdict, judge, report_progress,
};
use crate::options::{ChaosCancelOptions, CommonOptions};

mod group;

const MODEL: &str = "trial-openai";
const ACCOUNT: TrialAccount = TrialAccount {
    name: "openai-main",
    kind: "openai",
    shard: None,
    base_path: "openai/v1",
};
/// Workers first ask for a job after a sixth of this. Jobs are visible at once here.
const GRACE_SECONDS: u32 = 12;
/// Of the group. The other organization loads a tenth as much, and cancels nothing.
const GROUP_ORGANIZATION: usize = 0;
const OTHER_ORGANIZATION: usize = 1;
const ORGANIZATIONS: usize = 2;
const MAX_CONCURRENT_REQUESTS: usize = 32;
/// The account takes about a sixth of the group at once, in jobs of a twentieth.
const JOBS_PER_GROUP: u64 = 20;
const ENQUEUED_TOKENS_PER_CARGO: u64 = 30;
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const FIRST_ANSWERS_TIMEOUT: Duration = Duration::from_mins(3);
const CALLBACK_TIMEOUT: Duration = Duration::from_mins(15);

/// How a cargo ended.
#[derive(Debug, sqlx::FromRow)]
struct EndedCargo {
    id: Uuid,
    success: Option<bool>,
    failure_code: Option<String>,
    is_requested: bool,
}

pub async fn run(common: &CommonOptions, options: &ChaosCancelOptions) -> Result<TrialVerdict> {
    let mut environment = build_environment(common, options).await?;
    let service = &environment.service;
    let callers = QuestionLoader::new(
        service.server()?.address(),
        &service.callers.organizations,
        &service.callback_sink,
    );
    report_progress(format!("loading {} cargo of a group", options.cargo));
    load(&callers, GROUP_ORGANIZATION, options.cargo).await;
    load(&callers, OTHER_ORGANIZATION, options.cargo / 10).await;
    let members = callers.callback_log.cargo_of(GROUP_ORGANIZATION);
    let organization = callers.organizations.get(GROUP_ORGANIZATION);
    let organization = organization.context("the trial has no organization")?;
    let group = CancelledGroup::create(&service.shards, &organization.shard, &members).await?;
    environment.service.start_workers()?;
    let service = &environment.service;
    let enough = options.cargo / 10;
    report_progress(format!("two workers start; waiting for {enough} callbacks"));
    let limits = PollLimits::new(FIRST_ANSWERS_TIMEOUT, POLL_INTERVAL);
    limits
        .wait_until(|| callers.callback_log.count_received() >= enough)
        .await;
    let at_provider = PollLimits::new(FIRST_ANSWERS_TIMEOUT, POLL_INTERVAL)
        .read_until(
            |running: &Vec<u128>| !running.is_empty(),
            async || list_at_provider(service).await,
        )
        .await?;
    report_progress("cancelling the group, and some of its cargo one by one");
    let client = ServiceClient::new(service.server()?.address());
    let newest = members.iter().rev().step_by(2).take(options.single);
    let single: Vec<u128> = at_provider.iter().chain(newest).copied().collect();
    let one_by_one = cancel_one_by_one(&client, &callers, &single);
    let (answers, requested) = tokio::join!(one_by_one, group.request_cancel());
    requested?;
    let limits = PollLimits::new(CALLBACK_TIMEOUT, POLL_INTERVAL);
    limits
        .wait_until(|| callers.callback_log.is_complete())
        .await;

    let mut verdict = TrialVerdict::new("chaos cancel").judging_figures(!options.small);
    verdict.record("cargo", callers.callback_log.count_loaded());
    let query = "select c.id, o.success, o.failure_code,
                     c.cancel_requested_at is not null as is_requested
                 from shard.cargo c left join shard.outcome o on o.cargo = c.id";
    let ended: Vec<EndedCargo> = databases::fetch_rows(&service.shards, query).await?;
    judge_ends(&mut verdict, &callers, &ended);
    judge_answers(&mut verdict, &answers, &ended);
    judge_sent(&mut verdict, &environment, &ended).await?;
    let successes = || callers.callback_log.count_successes();
    let ledger = ledger_audit::audit_charges(service, successes).await?;
    ledger.judge(&mut verdict);
    Ok(verdict)
}

async fn build_environment(
    common: &CommonOptions,
    options: &ChaosCancelOptions,
) -> Result<ProviderEnvironment> {
    let cargo = u64::try_from(options.cargo).unwrap_or(u64::MAX);
    let limits = BenchAccountLimits {
        job_items: (cargo / JOBS_PER_GROUP).max(1),
        job_bytes: 100 << 20,
        enqueued_tokens: cargo * ENQUEUED_TOKENS_PER_CARGO,
    };
    let accounts = TrialAccounts {
        accounts: &[ACCOUNT],
        limits: &limits.to_toml(GRACE_SECONDS),
        models: &[MODEL],
    };
    let deployment = Deployment::one_serve("", 2).with_organizations(ORGANIZATIONS);
    let environment =
        ProviderEnvironment::build(common, accounts, deployment, CHAOS_MEMORY).await?;
    // Longer than the pauses between two questions for a job.
    let running_ms = if options.small { 3000 } else { 8000 };
    let pace = json!({"validating_ms": 200, "running_ms": running_ms, "finalizing_ms": 200});
    // The trial reads the input files after longshored has deleted them.
    let faults = json!([{"name": "delete_ignored"}]);
    for (what, value) in [("pace", pace), ("faults", faults)] {
        let path = ACCOUNT.admin_path(what);
        let simulator = &environment.simulator;
        simulator.call_admin("PUT", &path, Some(&value)).await?;
    }
    Ok(environment)
}

async fn load(callers: &QuestionLoader, organization: usize, count: usize) {
    let loads = (0..count).map(|number| async move {
        let question = ChatQuestion {
            model: MODEL,
            system: None,
            text: format!("question {number} of organization {organization}"),
        };
        callers.load_question(organization, &question).await;
    });
    stream::iter(loads)
        .buffer_unordered(MAX_CONCURRENT_REQUESTS)
        .for_each(|()| async {})
        .await;
}

/// Some cargo of a job that the provider has just begun. It is too late to cancel them.
async fn list_at_provider(service: &TrialEnvironment) -> Result<Vec<u128>> {
    let query = "select c.id from shard.cargo c join shard.batch b on b.id = c.batch
                 where b.running_at > now() - interval '2 seconds'
                     and c.completed_at is null and c.group_id is not null
                 limit 16";
    let rows: Vec<(Uuid,)> = databases::fetch_rows(&service.shards, query).await?;
    Ok(rows.into_iter().map(|(id,)| id.as_u128()).collect())
}

/// What the service answered for each cargo: the result, or the status of an error.
async fn cancel_one_by_one(
    client: &ServiceClient,
    callers: &QuestionLoader,
    cargo: &[u128],
) -> HashMap<u128, String> {
    let requests = cargo.iter().map(|cargo| async move {
        let organization = callers.organizations.get(GROUP_ORGANIZATION)?;
        let path = format!("/cargo/crg_{cargo:032x}/cancel");
        let sent = client.send(load_request::post(&path, organization)).await;
        let result = match sent {
            Ok(answer) => match answer.json().get("cancel").and_then(Value::as_str) {
                Some(result) => result.to_owned(),
                None => answer.status.to_string(),
            },
            Err(failure) => failure.to_string(),
        };
        Some((*cargo, result))
    });
    let answers = stream::iter(requests).buffer_unordered(MAX_CONCURRENT_REQUESTS);
    let answers: Vec<Option<(u128, String)>> = answers.collect().await;
    answers.into_iter().flatten().collect()
}

/// The cargo that was cancelled.
fn list_cancelled(ended: &[EndedCargo]) -> HashSet<u128> {
    let cancelled = ended
        .iter()
        .filter(|cargo| cargo.failure_code.as_deref() == Some("cancelled"));
    cancelled.map(|cargo| cargo.id.as_u128()).collect()
}

fn judge_ends(verdict: &mut TrialVerdict, callers: &QuestionLoader, ended: &[EndedCargo]) {
    let cancelled = list_cancelled(ended);
    let mut sum = callers.callback_log.summarize(|cargo, expected, body| {
        let is_cancelled = body.get("error_code").and_then(Value::as_str) == Some("cancelled");
        match (is_cancelled, cancelled.contains(&cargo)) {
            (true, true) => None,
            (false, false) => callback_log::find_wrong_answer(cargo, expected, body),
            (true, false) | (false, true) => Some(format!("its outcome is another: {body}")),
        }
    });
    sum.judge(verdict);
    let others = callers.callback_log.cargo_of(OTHER_ORGANIZATION);
    let affected = others.iter().filter(|cargo| cancelled.contains(*cargo));
    let too_late = ended
        .iter()
        .filter(|cargo| cargo.is_requested && cargo.success == Some(true));
    let (too_late, affected) = (too_late.count(), affected.count());
    judge! { verdict;
        record "cancelled" => cancelled.len(),
        record "too_late" => too_late,
        check "some cargo was cancelled" => !cancelled.is_empty(),
        check_figure "for some cargo it was too late" => too_late > 0,
        check "every cargo ended" => ended.iter().all(|cargo| cargo.success.is_some()),
        check "no callback arrived twice" => sum.repeated == 0,
        check "no cargo of others was cancelled" => affected == 0,
    }
}

fn judge_answers(
    verdict: &mut TrialVerdict,
    answers: &HashMap<u128, String>,
    ended: &[EndedCargo],
) {
    let cancelled = list_cancelled(ended);
    let mut wrong = Vec::new();
    for (cargo, answer) in answers {
        let is_wrong = match answer.as_str() {
            "cancelled" => !cancelled.contains(cargo),
            "done" => cancelled.contains(cargo),
            // It may come back without an answer, and is cancelled then. A slow service does not
            // say what became of it.
            "too_late" | "503" => false,
            _ => true,
        };
        if is_wrong {
            wrong.push(format!("crg_{cargo:032x}: {answer}"));
        }
    }
    let unanswered = answers.values().filter(|it| *it == "503").count();
    verdict
        .record("cancelled_one_by_one", answers.len())
        .record("cancellations_without_answer", unanswered)
        .check_figure("every cancellation is answered", unanswered == 0)
        .check_none(
            "every answer to a cancellation is true",
            "wrong_answers",
            &wrong,
        );
}

/// Nothing comes back without an answer here. So no job has a cargo that was cancelled.
async fn judge_sent(
    verdict: &mut TrialVerdict,
    environment: &ProviderEnvironment,
    ended: &[EndedCargo],
) -> Result<()> {
    report_progress("reading the jobs from the provider");
    let jobs = provider_jobs::read_jobs(&environment.simulator, &ACCOUNT).await?;
    let cancelled = list_cancelled(ended);
    let lines = jobs.iter().flat_map(|job| &job.lines);
    let (mut seen, mut twice, mut sent) = (HashSet::new(), 0, Vec::new());
    for line in lines {
        twice += usize::from(!seen.insert(line.cargo));
        if cancelled.contains(&line.cargo) {
            sent.push(format!("crg_{:032x}", line.cargo));
        }
    }
    verdict
        .record("jobs", jobs.len())
        .record("lines_sent", seen.len())
        .check("no cargo was sent twice", twice == 0)
        .check_none("no cancelled cargo was sent", "sent_cancelled", &sent);
    Ok(())
}
