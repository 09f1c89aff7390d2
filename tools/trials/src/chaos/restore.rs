//! The database is restored to the middle of the trial, while the simulated providers and the
//! bucket go on. The commands are those of docs/backup-and-restore.md.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::json;
use uuid::Uuid;

use crate::chaos::restore::database_restore::Middle;
use crate::chaos::restore::environment::{ACCOUNTS, MODELS, RestoreEnvironment};
use crate::chaos::restore::lost_cargo::{LostCargo, RecoveryReport};
use crate::harness::environment::databases;
use crate::harness::longshored::org_setup;
use crate::harness::{
    ChatQuestion, FailureContext as _, FilesClient, HttpClient, PollLimits, QuestionLoader, Result,
    SampleFile, TrialFailure, TrialVerdict, UploadContent, judge, report_progress, string_field,
};
use crate::options::{ChaosRestoreOptions, CommonOptions};

pub mod database_restore;
pub mod doc_page;
pub mod environment;
pub mod lost_cargo;
pub mod promises;

/// How much cargo of each model one organization loads in one round.
const CARGO_PER_ROUND: usize = 3;
const PAUSE_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(100));
const SETTLE_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(3), Duration::from_millis(200));
/// How long it is watched that a paused installation does nothing.
const WATCH_TIME: Duration = Duration::from_secs(3);
const ROUND_PAUSE: Duration = Duration::from_millis(500);

pub async fn run(common: &CommonOptions, options: &ChaosRestoreOptions) -> Result<TrialVerdict> {
    let mut environment = RestoreEnvironment::build(common).await?;
    set_pace(&environment).await?;
    let service = &environment.service;
    let loader = QuestionLoader::new(
        service.server()?.address(),
        &service.callers.organizations,
        &service.callback_sink,
    );
    let script = doc_page::script("take a base backup")?;
    environment.run_as_postgres(script, "").await?;
    report_progress("the first half");
    load_rounds(&loader, options.rounds).await;
    upload_files(&environment).await?;
    let project = create_project(&environment).await?;
    let middle = Middle::read(&environment).await?;
    report_progress(format!("the second half, after {}", middle.restore_to));
    load_rounds(&loader, options.rounds).await;
    upload_files(&environment).await?;
    let erase = ["admin", "erase", "project", &project, "--yes"];
    environment.service.longshored.run(&erase).await?;
    database_restore::wait_for_markers(&environment, middle.generation).await?;
    let keys = promises::list_file_keys(&environment).await?;
    database_restore::restore(&mut environment, &middle).await?;

    let mut verdict = TrialVerdict::new("chaos restore");
    watch_pause(&environment, &loader, &mut verdict).await?;
    let pause = doc_page::script("pause by hand")?;
    environment
        .run_as_operator(pause, &middle.restore_to)
        .await?;
    let look = doc_page::script("look")?;
    environment
        .run_as_operator(look, &middle.restore_to)
        .await?;
    let report = environment.service.scratch.join("lost.jsonl");
    let report = std::fs::read_to_string(report).context("reading the report")?;
    let report = RecoveryReport::parse(&report)?;
    let known = read_known_cargo(&environment).await?;
    judge_lost(&mut verdict, &loader, &report, &known);
    promises::judge_keys(&mut verdict, &environment, &keys, "before accept").await?;
    report_progress("accepting the database");
    let accept = doc_page::script("accept")?;
    let accepted = environment.run_as_operator(accept, &middle.restore_to);
    verdict.record("accepted", accepted.await?);
    settle(&mut verdict, &environment, &loader, &known).await?;
    promises::judge_keys(&mut verdict, &environment, &keys, "after accept").await?;
    promises::judge_submissions(&mut verdict, &environment, &report).await?;
    promises::judge_erasure(&mut verdict, &environment, &project).await?;
    let check = doc_page::script("check")?;
    environment
        .run_as_operator(check, &middle.restore_to)
        .await?;
    Ok(verdict)
}

/// Jobs take long enough to be running when the database is restored.
async fn set_pace(environment: &RestoreEnvironment) -> Result<()> {
    let pace = json!({"validating_ms": 300, "running_ms": 5_000, "finalizing_ms": 300});
    for account in ACCOUNTS {
        let path = account.admin_path("pace");
        let simulator = &environment.simulator;
        simulator.call_admin("PUT", &path, Some(&pace)).await?;
    }
    Ok(())
}

/// Work of every kind: for batch providers, a realtime server and the mock.
async fn load_rounds(loader: &QuestionLoader, rounds: usize) {
    for _ in 0..rounds {
        for (organization, question) in draw_questions(loader) {
            loader.load_question(organization, &question).await;
        }
        tokio::time::sleep(ROUND_PAUSE).await;
    }
}

/// The questions of one round, and who loads them.
fn draw_questions(loader: &QuestionLoader) -> Vec<(usize, ChatQuestion)> {
    let organizations = 0..loader.organizations.len();
    let questions = organizations.flat_map(|organization| {
        let models = MODELS.into_iter().cycle();
        let models = models.take(MODELS.len() * CARGO_PER_ROUND);
        models.map(move |model| {
            let text = format!("restore {}", Uuid::from_u128(rand::random()));
            let question = ChatQuestion {
                model,
                system: None,
                text,
            };
            (organization, question)
        })
    });
    questions.collect()
}

async fn upload_files(environment: &RestoreEnvironment) -> Result<()> {
    let service = &environment.service;
    let address = service.server()?.address();
    let organizations = &service.callers.organizations;
    for (turn, organization) in organizations.iter().enumerate() {
        let client = FilesClient::new(HttpClient::default(), address, &organization.api_key);
        let content = UploadContent::from(SampleFile::nth(turn));
        let upload = async || Ok(client.upload_and_complete(&content).await.err());
        let failed = PAUSE_LIMITS.read_until(Option::is_none, upload).await?;
        if let Some(failed) = failed {
            return Err(TrialFailure::new(format!(
                "a file is not accepted: {failed}"
            )));
        }
    }
    Ok(())
}

/// A project that is erased in the second half; returns its id.
async fn create_project(environment: &RestoreEnvironment) -> Result<String> {
    let service = &environment.service;
    let organization = service.first_organization()?;
    let create = [
        "project",
        "create",
        "--organization",
        &organization.id,
        "--slug",
        "erased",
    ];
    let created = org_setup::run_admin_command(&service.longshored, &create).await?;
    string_field(&created, "project_id")
}

/// The installation comes up paused: no load is accepted, nothing is sent.
async fn watch_pause(
    environment: &RestoreEnvironment,
    loader: &QuestionLoader,
    verdict: &mut TrialVerdict,
) -> Result<()> {
    let pool = environment.service.first_shard()?;
    let read = async || {
        let query = "select coalesce(pause_reason, '') from shard.recovery";
        let reason = sqlx::query_scalar::<_, String>(query).fetch_one(pool).await;
        reason.context("reading why the shard is paused")
    };
    let reason = PAUSE_LIMITS.read_until(|it| !it.is_empty(), read).await?;
    let submitted = promises::count_submissions(environment).await?;
    let received = loader.callback_log.count_received();
    tokio::time::sleep(WATCH_TIME).await;
    let refused = loader.callback_log.load_log.count_failures();
    for (organization, question) in draw_questions(loader) {
        loader.load_question_once(organization, &question).await;
    }
    let answers = loader.callback_log.load_log.failures_by_reason();
    let refused = loader.callback_log.load_log.count_failures() - refused;
    let is_refused = refused == loader.organizations.len() * MODELS.len() * CARGO_PER_ROUND;
    judge! { verdict;
        check "the restored database comes up paused" => !reason.is_empty(),
        record "pause_reason" => reason,
        record "answers_besides_202" => answers,
        check "a paused installation accepts no load" => is_refused,
        check "a paused installation submits nothing" =>
            promises::count_submissions(environment).await? == submitted,
        check "a paused installation sends no callback" =>
            loader.callback_log.count_received() == received,
    }
    Ok(())
}

async fn read_known_cargo(environment: &RestoreEnvironment) -> Result<HashSet<u128>> {
    let query = "select id from shard.cargo";
    let rows: Vec<(Uuid,)> = databases::fetch_rows(&environment.service.shards, query).await?;
    Ok(rows.into_iter().map(|(id,)| id.as_u128()).collect())
}

fn judge_lost(
    verdict: &mut TrialVerdict,
    loader: &QuestionLoader,
    report: &RecoveryReport,
    known: &HashSet<u128>,
) {
    let mut lost = LostCargo::default();
    let acknowledged = loader.callback_log.load_log.acknowledged();
    for (cargo, load) in acknowledged.iter().filter(|(it, _)| !known.contains(it)) {
        lost.add(load.source.label, report.cargo.contains(cargo));
    }
    verdict.record("acknowledged", acknowledged.len());
    lost.judge(report, verdict);
}

/// Everything that the restored database knows ends with its callback.
async fn settle(
    verdict: &mut TrialVerdict,
    environment: &RestoreEnvironment,
    loader: &QuestionLoader,
    known: &HashSet<u128>,
) -> Result<()> {
    let query = "select id from shard.cargo c where c.completed_at is null
                     or exists (select from shard.delivery d where d.cargo = c.id)";
    let read = async || {
        let rows: Vec<(Uuid,)> = databases::fetch_rows(&environment.service.shards, query).await?;
        Ok(rows.len())
    };
    let open = SETTLE_LIMITS.read_until(|open| *open == 0, read).await?;
    let received = loader.callback_log.received_cargo();
    let acknowledged = loader.callback_log.load_log.acknowledged();
    let erased: HashSet<Uuid> = {
        let query = "select id from shard.cargo where erased_at is not null";
        let rows: Vec<(Uuid,)> = databases::fetch_rows(&environment.service.shards, query).await?;
        rows.into_iter().map(|(id,)| id).collect()
    };
    let silent = acknowledged
        .keys()
        .filter(|it| known.contains(it) && !received.contains(it))
        .filter(|it| !erased.contains(&Uuid::from_u128(**it)))
        .map(|it| format!("crg_{it:032x}"));
    let silent: Vec<String> = silent.collect();
    judge! { verdict;
        record "known" => known.len(),
        record "open_after_accept" => open,
        check "all cargo that the restored database knows ends" => open == 0,
    }
    verdict.check_none("it ends with its callback", "without_callback", &silent);
    Ok(())
}
