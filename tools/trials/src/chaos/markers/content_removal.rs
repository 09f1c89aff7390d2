//! Contents that no reader shows any more: those of an erased project, and those of cargo under
//! zero retention. Before, the same readers show every kind.

use std::time::Duration;

use crate::chaos::markers::dashboard_session::DashboardSession;
use crate::chaos::markers::marked_work::{MarkedRecords, MarkedWork, SETTLE_LIMITS};
use crate::chaos::markers::marker::Markers;
use crate::chaos::markers::marker_readers::{self, MarkerReaders};
use crate::chaos::markers::marker_receiver::MarkerReceiver;
use crate::chaos::markers::text_search::TextSearch;
use crate::harness::environment::files_environment::FilesEnvironment;
use crate::harness::environment::trial_environment::TrialEnvironment;
use crate::harness::failure::{FailureContext as _, Result, TrialFailure};
use crate::harness::http::service_client::ServiceClient;
use crate::harness::http::{load_request, string_field};
use crate::harness::longshored::org_setup;
use crate::harness::polling::PollLimits;
use crate::harness::progress::report_progress;
use crate::harness::servers::simulator_process::SimulatorProcess;
use crate::harness::verdict::TrialVerdict;

/// One is read for each kind; more make no difference.
const ZERO_RETENTION_CARGO: usize = 3;
/// Retention is about cargo: files and groups keep their records until they are deleted.
const KEPT_UNDER_ZERO_RETENTION: [&str; 4] = [
    "file name",
    "file metadata",
    "group metadata",
    "group callback URL",
];
/// Workers remove the objects of an erased project within seconds; until then the command fails.
const ERASURE_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(1), Duration::from_millis(500));

/// Erases the project whose contents were loaded.
pub(super) async fn judge_erasure(
    environment: &TrialEnvironment,
    records: &MarkedRecords,
    markers: &Markers,
) -> Result<TrialVerdict> {
    let mut verdict = TrialVerdict::new("erasure");
    let readers = MarkerReaders {
        environment,
        session: &DashboardSession::start(environment).await?,
        records,
        search: &TextSearch::new(&markers.list()),
    };
    let before = readers.read_all().await?;
    before.judge_before(&mut verdict, markers);
    report_progress("erasing the project");
    erase_project(environment).await?;
    // At once: a process may accept the key of the project for some seconds more.
    readers.read_all().await?.judge_after(&mut verdict, &[]);
    verdict.check(
        "the key of the project is refused",
        is_key_refused(environment).await?,
    );
    Ok(verdict)
}

/// Chooses zero retention, loads contents of its own, and lets their callbacks be refused until the
/// readers have seen them.
pub(super) async fn judge_zero_retention(
    environment: &FilesEnvironment,
    simulator: &SimulatorProcess,
) -> Result<TrialVerdict> {
    let (mut verdict, markers) = (TrialVerdict::new("zero retention"), Markers::draw());
    let service = &environment.service;
    set_zero_retention(service).await?;
    let receiver = MarkerReceiver::start(&markers.callback_answer, false).await?;
    let work = MarkedWork {
        environment,
        simulator,
        markers: &markers,
        receiver: &receiver,
        cargo: ZERO_RETENTION_CARGO,
    };
    let records = &work.run().await?;
    let readers = MarkerReaders {
        environment: service,
        session: &DashboardSession::start(service).await?,
        records,
        search: &TextSearch::new(&markers.list()),
    };
    let before = readers.read_all().await?;
    before.judge_before(&mut verdict, &markers);
    report_progress("acknowledging callbacks under zero retention");
    receiver.acknowledge();
    send_callbacks_now(service, records).await?;
    verdict
        .check("all cargo are erased", are_erased(service, records).await?)
        .check("the project was swept", is_swept(service).await?);
    let after = readers.read_all().await?;
    after.judge_after(&mut verdict, &KEPT_UNDER_ZERO_RETENTION);
    Ok(verdict)
}

async fn erase_project(environment: &TrialEnvironment) -> Result<()> {
    let project = marker_readers::find_project(environment).await?;
    let project = string_field(&project, "project_id")?;
    let verb = ["admin", "erase", "project", &project, "--yes"];
    let erase = async || environment.longshored.run_to_end(&verb).await;
    let erased = ERASURE_LIMITS.read_until(|it| it.status.success(), erase);
    let erased = erased.await?;
    if !erased.status.success() {
        let text = format!("a project was not erased: {}", erased.stderr);
        return Err(TrialFailure::new(text));
    }
    Ok(())
}

/// Processes follow changes of keys within seconds.
async fn is_key_refused(environment: &TrialEnvironment) -> Result<bool> {
    let organization = environment.first_organization()?;
    let client = ServiceClient::new(environment.server()?.address());
    let is_refused = |status: &u16| matches!(status, 401 | 403);
    let read = async || {
        let answer = client.send(load_request::get("/cargo", organization)).await;
        Ok(answer.context("listing cargo")?.status)
    };
    let status = SETTLE_LIMITS.read_until(is_refused, read).await?;
    Ok(is_refused(&status))
}

async fn set_zero_retention(environment: &TrialEnvironment) -> Result<()> {
    let project = marker_readers::find_project(environment).await?;
    let project = string_field(&project, "project_id")?;
    let verb = ["project", "retention", &project, "zero"];
    let set = org_setup::run_admin_command(&environment.longshored, &verb).await;
    set.map(|_| ())
}

/// Instead of waiting for the next retry.
async fn send_callbacks_now(environment: &TrialEnvironment, records: &MarkedRecords) -> Result<()> {
    let organization = environment.first_organization()?;
    let client = ServiceClient::new(environment.server()?.address());
    for cargo in &records.cargo {
        let path = format!("/cargo/crg_{cargo:032x}/resend");
        let request = load_request::post(&path, organization);
        let answer = client.send_repeatedly(request).await.context(&path)?;
        if !answer.is_success() {
            let text = format!("{path}: {} {}", answer.status, answer.text());
            return Err(TrialFailure::new(text));
        }
    }
    Ok(())
}

async fn are_erased(environment: &TrialEnvironment, records: &MarkedRecords) -> Result<bool> {
    let (pool, cargo) = (environment.first_shard()?, records.cargo_ids());
    let read = async || {
        let kept = "select count(*) from shard.cargo where id = any($1) and erased_at is null";
        let kept = sqlx::query_scalar::<_, i64>(kept).bind(&cargo);
        kept.fetch_one(pool).await.context("counting cargo")
    };
    let kept = SETTLE_LIMITS.read_until(|kept| *kept == 0, read).await?;
    Ok(kept == 0)
}

/// Sweep examines a project at once when its retention is set, and then sets a later time.
async fn is_swept(environment: &TrialEnvironment) -> Result<bool> {
    set_zero_retention(environment).await?;
    let pool = environment.first_shard()?;
    let read = async || {
        let swept = "select bool_and(next_at > now()) from shard.retention";
        let swept = sqlx::query_scalar::<_, Option<bool>>(swept);
        let swept = swept.fetch_one(pool).await.context("reading a retention");
        Ok(swept? == Some(true))
    };
    SETTLE_LIMITS.read_until(|is_swept| *is_swept, read).await
}
