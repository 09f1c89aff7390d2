//! The object store is killed and restarted: only files may fail, and everything recovers
//! without help.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::Value;

use crate::harness::build_profile;
use crate::harness::checks::bucket_reconciliation;
use crate::harness::load::open_loop;
use crate::harness::measurement::statistics;
use crate::harness::{
    Deployment, FilesClient, FilesEnvironment, FilesResponse, PollLimits, Result, SampleFile,
    StagedUpload, TrialFailure, TrialVerdict, UploadContent, judge, report_progress,
};
use crate::options::{ChaosStoreOptions, CommonOptions};

const ORGANIZATIONS: usize = 4;
const BEFORE_OUTAGE: Duration = Duration::from_secs(3);
const AFTER_OUTAGE: Duration = Duration::from_secs(3);
const REQUEST_INTERVAL: Duration = Duration::from_millis(200);
/// Callers must get a refusal by then.
const MAX_NOTICE_DELAY: Duration = Duration::from_secs(5);
/// Files must be accepted again by then.
const MAX_RECOVERY_DELAY: Duration = Duration::from_secs(15);
const SETTLE_TIMEOUT: Duration = Duration::from_mins(2);
const SETTINGS: [(&str, &str); 3] = [
    ("PATROL_SECONDS", "3"),
    ("COMPLETE_WAIT_SECONDS", "1"),
    ("UPLOAD_ABANDON_SECONDS", "20"),
];

/// The responses of the Files API while the store was down.
#[derive(Debug, Default)]
struct OutageResponses {
    first_refusal_after: Option<Duration>,
    /// Refusals with a reason.
    refused: u64,
    /// Refusals with 503 for another reason than the store, after the first refusal.
    otherwise_refused: u64,
    message: String,
    /// Any other response after the first refusal.
    wrong: Vec<String>,
    recovered_after: Option<Duration>,
}

pub async fn run(common: &CommonOptions, options: &ChaosStoreOptions) -> Result<TrialVerdict> {
    let deployment = Deployment::one_serve("", 1)
        .with_organizations(ORGANIZATIONS)
        .with_settings(&SETTINGS);
    let mut environment = FilesEnvironment::build(common, deployment).await?;
    let callers = Arc::clone(&environment.service.callers);
    let (load, begun) = (open_loop::load_each_in_turn(&callers), Instant::now());
    let injection = run_outage(&mut environment, Duration::from_secs(options.seconds));
    let (offered, responses) = open_loop::offer_loads_during(options.rate, load, injection).await;
    let (responses, caught) = responses?;
    report_progress("waiting for completion");
    let survey = bucket_reconciliation::wait_until_reconciled(&environment, SETTLE_TIMEOUT).await?;

    let mut verdict = TrialVerdict::new("chaos store");
    let mut taken = callers
        .load_log
        .accepted_milliseconds(begun, Instant::now());
    judge! { verdict;
        record "loads" => offered.loads,
        record "load_milliseconds" => statistics::summarize(&mut taken),
        record "failed_loads" => callers.load_log.failures_by_reason(),
    }
    callers.load_log.judge_acceptance(&mut verdict);
    responses.judge(&mut verdict);
    caught.judge(&mut verdict, &environment).await;
    survey.judge(&mut verdict);
    Ok(verdict)
}

/// Files that were in progress when the store went down.
#[derive(Debug)]
struct InterruptedFiles {
    /// Uploaded and not yet completed.
    uploaded_id: String,
    /// Ready, and deleted while the store was down.
    deleted_id: String,
    completed: FilesResponse,
    deletion: FilesResponse,
    listed: FilesResponse,
}

async fn run_outage(
    environment: &mut FilesEnvironment,
    away: Duration,
) -> Result<(OutageResponses, InterruptedFiles)> {
    tokio::time::sleep(BEFORE_OUTAGE).await;
    let caller = environment.first_client()?.clone();
    let deleted = stage_sample(&caller).await?;
    let limits = PollLimits::new(MAX_RECOVERY_DELAY, REQUEST_INTERVAL);
    deleted.complete_until(limits, |it| it == "ready").await?;
    let brought = stage_sample(&caller).await?;
    report_progress("stopping the store");
    environment.object_store.child.kill();
    let mut responses = OutageResponses::default();
    let completed = brought.complete().await;
    responses.request_sessions(&caller, away).await;
    let caught = InterruptedFiles {
        completed,
        deletion: caller
            .send_repeatedly(Method::DELETE, &format!("/files/{}", deleted.file_id))
            .await,
        listed: caller.send_repeatedly(Method::GET, "/files").await,
        uploaded_id: brought.file_id,
        deleted_id: deleted.file_id,
    };
    environment.object_store.start().await?;
    report_progress("the store is up again");
    let back = Instant::now();
    while responses.recovered_after.is_none() && back.elapsed() < SETTLE_TIMEOUT {
        if stage_sample(&caller).await.is_ok() {
            responses.recovered_after = Some(back.elapsed());
        }
        tokio::time::sleep(REQUEST_INTERVAL).await;
    }
    tokio::time::sleep(AFTER_OUTAGE).await;
    Ok((responses, caught))
}

/// Opens a session and uploads its bytes.
async fn stage_sample(caller: &FilesClient) -> Result<StagedUpload> {
    let content = UploadContent::from(SampleFile::nth(rand::random_range(0..12)));
    caller.stage(&content).await.map_err(TrialFailure::new)
}

impl OutageResponses {
    /// Asks for sessions while the store is down.
    async fn request_sessions(&mut self, caller: &FilesClient, away: Duration) {
        let begun = Instant::now();
        // A slow process notices late, and the outage lasts until then.
        while begun.elapsed() < away
            || self.refused == 0
                && begun.elapsed() < build_profile::extend_timeout(MAX_NOTICE_DELAY)
        {
            let response = caller.create_file(&SampleFile::nth(0).into()).await;
            let message = response.string_field("message");
            let (error, is_503) = (response.string_field("error"), response.status == 503);
            if is_503 && error == "storage_unavailable" && !message.is_empty() {
                self.refused += 1;
                message.clone_into(&mut self.message);
                self.first_refusal_after.get_or_insert(begun.elapsed());
            } else if is_503 && error == "service_unavailable" {
                self.otherwise_refused += u64::from(self.refused > 0);
            } else if self.first_refusal_after.is_some()
                || response.status == 500
                || response.status == 0
            {
                self.wrong.push(response.summary());
            }
            tokio::time::sleep(REQUEST_INTERVAL).await;
        }
    }

    fn judge(&self, verdict: &mut TrialVerdict) {
        let seconds =
            |time: Option<Duration>| time.map(|time| statistics::round_to(time.as_secs_f64(), 1));
        let within = |time: Option<Duration>, most| time.is_some_and(|time| time <= most);
        verdict
            .record("refused_sessions", self.refused)
            .record("otherwise_refused_sessions", self.otherwise_refused)
            .record("refused_after_seconds", seconds(self.first_refusal_after))
            .record("taken_again_after_seconds", seconds(self.recovered_after))
            .record("message", self.message.clone())
            .check("sessions are refused with a reason", self.refused > 0)
            .check_figure(
                "sessions are refused with a reason within 5 s",
                within(self.first_refusal_after, MAX_NOTICE_DELAY),
            )
            .check_none(
                "all sessions are refused from then on",
                "wrong",
                &self.wrong,
            )
            .check_figure(
                "no session is refused for another reason",
                self.otherwise_refused == 0,
            )
            .check("files are accepted again", self.recovered_after.is_some())
            .check_figure(
                "files are accepted again within 15 s",
                within(self.recovered_after, MAX_RECOVERY_DELAY),
            );
    }
}

impl InterruptedFiles {
    async fn judge(&self, verdict: &mut TrialVerdict, environment: &FilesEnvironment) {
        let Some(caller) = environment.clients.first() else {
            return;
        };
        let uploaded_file = caller.find_file(&self.uploaded_id).await;
        let deleted = caller.find_file(&self.deleted_id).await;
        let summary = |response: &FilesResponse| Value::from(response.summary());
        judge! { verdict;
            record "completed_meanwhile" => summary(&self.completed),
            check "complete without a store answers 202 or 503" =>
                matches!(self.completed.status, 202 | 503),
            check "listing files needs no store" => self.listed.status == 200,
            check "deleting a file needs no store" =>
                self.deletion.status == 200 && deleted.string_field("status") == "expired",
        }
        // A caller with a 202 does not have to retry.
        if self.completed.status == 202 {
            verdict.check(
                "a waiting file becomes ready without a retry",
                uploaded_file.string_field("status") == "ready",
            );
        }
    }
}
