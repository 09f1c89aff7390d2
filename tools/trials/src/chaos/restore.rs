//! The database is restored to the middle of the trial, while the simulated providers and the
//! bucket go on. The commands are those of docs/backup-and-restore.md.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::chaos::restore::environment::{ACCOUNTS, MODELS, RestoreEnvironment};
use crate::chaos::restore::lost_cargo::{LostCargo, RecoveryReport};
use crate::harness::environment::databases;
use crate::harness::longshored::org_setup;
use crate::harness::servers::postgres;
use crate::harness::{
    ChatQuestion, FailureContext as _, FilesClient, HttpClient, PollLimits, QuestionLoader, Result,
    SampleFile, TrialFailure, TrialVerdict, UploadContent, judge, report_progress, string_field,
};
use crate::options::{ChaosRestoreOptions, CommonOptions};

pub mod doc_page;
pub mod environment;
pub mod lost_cargo;

/// How much cargo of each model one organization loads in one round.
const CARGO_PER_ROUND: usize = 3;
/// A marker is written every five seconds, and a failover may lose one.
const MARKERS_AFTER_MIDDLE: i64 = 3;
const MARKER_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(60), Duration::from_millis(200));
const PAUSE_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(100));
const REPLAY_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(2), Duration::from_millis(100));
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
    let middle = Middle::read(&environment).await?;
    report_progress(format!("the second half, after {}", middle.restore_to));
    load_rounds(&loader, options.rounds).await;
    upload_files(&environment).await?;
    let erased = erase_project(&environment).await?;
    wait_for_markers(&environment, middle.generation).await?;
    let keys = list_file_keys(&environment).await?;
    restore(&mut environment, &middle).await?;

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
    let report = environment
        .service
        .longshored
        .run(&["admin", "recovery", "report"]);
    let report = RecoveryReport::parse(&report.await?)?;
    let known = read_known_cargo(&environment).await?;
    judge_lost(&mut verdict, &loader, &report, &known);
    judge_keys(&mut verdict, &environment, &keys, "before accept").await?;
    report_progress("accepting the database");
    let accept = doc_page::script("accept")?;
    let accepted = environment.run_as_operator(accept, &middle.restore_to);
    verdict.record("accepted", accepted.await?);
    settle(&mut verdict, &environment, &loader, &known).await?;
    judge_keys(&mut verdict, &environment, &keys, "after accept").await?;
    judge_submissions(&mut verdict, &environment, &report).await?;
    judge_erasure(&mut verdict, &environment, &erased).await?;
    let check = doc_page::script("check")?;
    environment
        .run_as_operator(check, &middle.restore_to)
        .await?;
    Ok(verdict)
}

/// Jobs take long enough to be running when the database is restored.
async fn set_pace(environment: &RestoreEnvironment) -> Result<()> {
    let pace = json!({"validating_ms": 300, "running_ms": 12_000, "finalizing_ms": 300});
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
        for organization in 0..loader.organizations.len() {
            for model in MODELS
                .into_iter()
                .cycle()
                .take(MODELS.len() * CARGO_PER_ROUND)
            {
                let text = format!("restore {}", Uuid::from_u128(rand::random()));
                let question = ChatQuestion {
                    model,
                    system: None,
                    text,
                };
                loader.load_question(organization, &question).await;
            }
        }
        tokio::time::sleep(ROUND_PAUSE).await;
    }
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

/// The moment to which the database is restored.
struct Middle {
    restore_to: String,
    generation: i64,
}

impl Middle {
    async fn read(environment: &RestoreEnvironment) -> Result<Self> {
        let pool = environment.service.first_shard()?;
        let now: DateTime<Utc> = postgres::read_clock(pool).await?;
        Ok(Self {
            restore_to: now.to_rfc3339_opts(SecondsFormat::Micros, true),
            generation: read_generation(environment).await?,
        })
    }
}

async fn read_generation(environment: &RestoreEnvironment) -> Result<i64> {
    let pool = environment.service.first_shard()?;
    let generation = sqlx::query_scalar("select generation from shard.bucket_marker");
    let generation = generation.fetch_one(pool).await;
    generation.context("reading the bucket marker")
}

async fn wait_for_markers(environment: &RestoreEnvironment, middle: i64) -> Result<()> {
    let enough = middle + MARKERS_AFTER_MIDDLE;
    let read = async || read_generation(environment).await;
    let reached = MARKER_LIMITS.read_until(|it| *it >= enough, read).await?;
    if reached < enough {
        return Err(TrialFailure::new("no markers are written to the bucket"));
    }
    Ok(())
}

/// Erases a project of the first half's organization; returns its id.
async fn erase_project(environment: &RestoreEnvironment) -> Result<String> {
    let longshored = &environment.service.longshored;
    let organizations = &environment.service.callers.organizations;
    let organization = organizations.first().context("there is no organization")?;
    let list = ["project", "list", "--organization", &organization.id];
    let projects = org_setup::run_admin_command(longshored, &list).await?;
    let project = projects.get(0).context("the organization has no project")?;
    let project = string_field(project, "project_id")?;
    let erase = ["admin", "erase", "project", &project, "--yes"];
    // Its cargo in flight ends later.
    longshored.run_to_end(&erase).await?;
    Ok(project)
}

async fn list_file_keys(environment: &RestoreEnvironment) -> Result<HashSet<String>> {
    let keys = environment.objects.bucket.list_keys().await?;
    let is_file = |key: &String| key.contains("files/");
    Ok(keys.into_iter().filter(is_file).collect())
}

/// The disk of the database server is lost, and every process with it.
async fn restore(environment: &mut RestoreEnvironment, middle: &Middle) -> Result<()> {
    environment.server_mut()?.switch_wal().await?;
    for process in &mut environment.service.processes {
        process.child.kill();
    }
    environment.server_mut()?.wait_until_archived().await?;
    environment.server_mut()?.crash().await?;
    report_progress("restoring the database");
    let script = doc_page::script("restore to a moment")?;
    environment
        .run_as_postgres(script, &middle.restore_to)
        .await?;
    environment.server_mut()?.start().await?;
    let pool = environment.service.first_shard()?;
    let is_recovering = async || {
        let query = sqlx::query_scalar("select pg_is_in_recovery()");
        let answer: std::result::Result<bool, _> = query.fetch_one(pool).await;
        Ok(answer.unwrap_or(true))
    };
    if REPLAY_LIMITS.read_until(|it| !it, is_recovering).await? {
        return Err(TrialFailure::new("the archive is not replayed to its end"));
    }
    for process in &mut environment.service.processes {
        process.start()?;
    }
    for process in &mut environment.service.processes {
        if process.serves_callers() {
            process.wait_until_ready().await?;
        }
    }
    Ok(())
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
    let submitted = count_submissions(environment).await?;
    let received = loader.callback_log.count_received();
    tokio::time::sleep(WATCH_TIME).await;
    let refused = loader.callback_log.load_log.count_failures();
    load_rounds(loader, 1).await;
    let answers = loader.callback_log.load_log.failures_by_reason();
    let refused = loader.callback_log.load_log.count_failures() - refused;
    let is_refused = refused == loader.organizations.len() * MODELS.len() * CARGO_PER_ROUND;
    judge! { verdict;
        check "the restored database comes up paused" => !reason.is_empty(),
        record "pause_reason" => reason,
        record "answers_besides_202" => answers,
        check "a paused installation accepts no load" => is_refused,
        check "a paused installation submits nothing" =>
            count_submissions(environment).await? == submitted,
        check "a paused installation sends no callback" =>
            loader.callback_log.count_received() == received,
    }
    Ok(())
}

async fn count_submissions(environment: &RestoreEnvironment) -> Result<usize> {
    Ok(list_submissions(environment).await?.len())
}

async fn list_submissions(environment: &RestoreEnvironment) -> Result<Vec<Value>> {
    let mut submissions = Vec::new();
    for account in ACCOUNTS {
        let path = account.admin_path("submissions");
        let list = environment.simulator.call_admin("GET", &path, None).await?;
        let list = list.as_array().context("the submissions are not a list")?;
        submissions.extend(list.iter().cloned());
    }
    Ok(submissions)
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

async fn judge_keys(
    verdict: &mut TrialVerdict,
    environment: &RestoreEnvironment,
    keys: &HashSet<String>,
    when: &str,
) -> Result<()> {
    let left = list_file_keys(environment).await?;
    let gone: Vec<String> = keys.difference(&left).cloned().collect();
    verdict
        .record(&format!("files_{}", when.replace(' ', "_")), left.len())
        .check_none(format!("no file is deleted {when}"), "deleted", &gone);
    Ok(())
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

/// A job whose items are submitted again was named by the report and cancelled.
async fn judge_submissions(
    verdict: &mut TrialVerdict,
    environment: &RestoreEnvironment,
    report: &RecoveryReport,
) -> Result<()> {
    let mut jobs: HashMap<String, Vec<String>> = HashMap::new();
    for submission in list_submissions(environment).await? {
        let text = |name: &str| submission.get(name).and_then(Value::as_str);
        if let (Some(job), Some(items)) = (text("job"), text("ids_sha256")) {
            jobs.entry(items.to_owned())
                .or_default()
                .push(job.to_owned());
        }
    }
    let created: usize = jobs.values().map(Vec::len).sum();
    let repeated = jobs.values().flat_map(|same| {
        let earlier = same.len().saturating_sub(1);
        same.iter().take(earlier)
    });
    let unknown = repeated.filter(|job| !report.jobs.contains(*job)).cloned();
    let unknown: Vec<String> = unknown.collect();
    verdict.record("jobs", created).check_none(
        "no job is submitted twice unknowingly",
        "submitted_twice",
        &unknown,
    );
    Ok(())
}

async fn judge_erasure(
    verdict: &mut TrialVerdict,
    environment: &RestoreEnvironment,
    project: &str,
) -> Result<()> {
    let digits = project.rsplit('_').next().unwrap_or_default();
    let server = environment.service.database_server()?;
    let mut control = server.connect("control").await?;
    let query = "select erased_at is not null from control.project where id = $1::text::uuid";
    let erased: std::result::Result<bool, _> = sqlx::query_scalar(query)
        .bind(digits)
        .fetch_one(&mut control)
        .await;
    let erased = erased.context("reading the erased project")?;
    verdict.check("an erasure of the later half is repeated", erased);
    Ok(())
}
