//! Batches: create from a file, get, list and cancel.

use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::Value;

use super::batch_object::batch_object;
use super::input_file;
use super::page;
use crate::account::JobDraft;
use crate::call::{CallResult, SimulatedCall, run_blocking};
use crate::job::{JobPhase, JobRequest};
use crate::manifest::SimulatedManifest;
use crate::provider::SimulatedDialect;
use crate::refusal::{CallRejection, SimulatedRefusal};
use crate::reply;
use crate::request::TaskKind;

#[derive(Debug, Deserialize)]
struct CreateBatchRequest {
    input_file_id: Option<String>,
    endpoint: Option<String>,
    completion_window: Option<String>,
    #[serde(default)]
    metadata: Value,
}

pub(super) async fn create(mut call: SimulatedCall) -> CallResult {
    let request: CreateBatchRequest = call.json(1024 * 1024).await?;
    let file = {
        let account = call.account.lock();
        let id = request.input_file_id.as_deref().unwrap_or_default();
        account.file(id, call.now).map(|file| file.bytes.clone())
    };
    let (kind, mut refusal) = match check_request(&request, call.dialect) {
        Ok(kind) => (kind, None),
        Err(refusal) => (TaskKind::Chat, Some(refusal)),
    };
    let window = completion_window(&request, call.dialect);
    let endpoint = request.endpoint.unwrap_or_default();
    let input = match file {
        Ok(bytes) => {
            let endpoint = endpoint.clone();
            let dialect = call.dialect;
            run_blocking(move || input_file::read_input(&bytes, kind, &endpoint, dialect)).await?
        }
        Err(no) => {
            if let (CallRejection::Refused(missing), None) = (no, &refusal) {
                refusal = Some(*missing);
            }
            input_file::BatchInput {
                manifest: SimulatedManifest::default(),
                model: String::new(),
                validation_errors: Vec::new(),
            }
        }
    };
    let label = request
        .metadata
        .get("submission_id")
        .and_then(Value::as_str);
    let draft = JobDraft {
        validation_errors: input.validation_errors,
        refusal,
        window,
        request: JobRequest {
            kind,
            model: input.model,
            label: label.map(str::to_owned),
            manifest: input.manifest,
            endpoint,
            input_file: request.input_file_id,
            metadata: request.metadata.clone(),
        },
    };
    let created = call.account.lock().create(draft, call.now)?;
    let answer = batch_object(&created.job, call.now);
    Ok(reply::reply_to_create(created.reply, &answer).await)
}

/// Checks the parameters of a create call.
fn check_request(
    request: &CreateBatchRequest,
    dialect: SimulatedDialect,
) -> Result<TaskKind, SimulatedRefusal> {
    if request.input_file_id.is_none() {
        return Err(
            SimulatedRefusal::new(400, "Missing required parameter: 'input_file_id'.")
                .param("input_file_id"),
        );
    }
    let window = request.completion_window.as_deref().unwrap_or_default();
    let is_window = match dialect {
        SimulatedDialect::OpenAi | SimulatedDialect::Azure => window == "24h",
        SimulatedDialect::Groq => window_hours(window).is_some(),
    };
    if !is_window {
        return Err(SimulatedRefusal::new(
            400,
            "Invalid value: 'completion_window'. Supported values are: '24h'.",
        )
        .param("completion_window"));
    }
    let pairs = request.metadata.as_object();
    let is_too_much = pairs.is_some_and(|pairs| {
        let long = |(name, value): (&String, &Value)| {
            name.len() > 64 || value.as_str().is_none_or(|value| value.len() > 512)
        };
        pairs.len() > 16 || pairs.iter().any(long)
    });
    if is_too_much {
        return Err(SimulatedRefusal::new(
            400,
            "Invalid 'metadata': at most 16 pairs of 64 and 512 characters.",
        )
        .param("metadata"));
    }
    check_endpoint(request.endpoint.as_deref().unwrap_or_default(), dialect)
}

fn check_endpoint(endpoint: &str, dialect: SimulatedDialect) -> Result<TaskKind, SimulatedRefusal> {
    let is_azure = dialect == SimulatedDialect::Azure;
    let has_all = dialect != SimulatedDialect::Groq;
    match endpoint {
        "/v1/chat/completions" => Ok(TaskKind::Chat),
        "/chat/completions" if is_azure => Ok(TaskKind::Chat),
        "/v1/responses" if has_all => Ok(TaskKind::Responses),
        "/responses" if is_azure => Ok(TaskKind::Responses),
        "/v1/embeddings" if has_all => Ok(TaskKind::Embedding),
        "/embeddings" if is_azure => Ok(TaskKind::Embedding),
        _ => Err(SimulatedRefusal::new(400, "Invalid value: 'endpoint'. The simulator has '/v1/chat/completions', '/v1/responses' and '/v1/embeddings'; Groq has the first only.").param("endpoint")),
    }
}

/// The hours of a window such as `24h` or `7d`, if Groq takes it.
fn window_hours(window: &str) -> Option<i64> {
    let hours = match window.strip_suffix('d') {
        Some(days) => days.parse::<i64>().ok()?.checked_mul(24)?,
        None => window.strip_suffix('h')?.parse().ok()?,
    };
    (24..=7 * 24).contains(&hours).then_some(hours)
}

/// When a batch expires. Azure's never do.
fn completion_window(request: &CreateBatchRequest, dialect: SimulatedDialect) -> TimeDelta {
    match dialect {
        SimulatedDialect::OpenAi => TimeDelta::hours(24),
        SimulatedDialect::Azure => TimeDelta::days(365),
        SimulatedDialect::Groq => {
            let window = request.completion_window.as_deref().unwrap_or_default();
            TimeDelta::hours(window_hours(window).unwrap_or(24))
        }
    }
}

pub(super) fn show(call: &SimulatedCall, id: &str) -> CallResult {
    let mut account = call.account.lock();
    let job = account.poll(id, call.now)?;
    Ok(reply::json(&batch_object(job, call.now)))
}

pub(super) fn list(call: &SimulatedCall) -> CallResult {
    if call
        .number("limit")
        .is_some_and(|limit| !(1..=100).contains(&limit))
    {
        return Err(
            SimulatedRefusal::new(400, "Invalid 'limit': must be from 1 to 100.")
                .param("limit")
                .into(),
        );
    }
    let jobs = call.account.lock().list_jobs(call.now)?;
    let show = |job: &crate::job::SimulatedJob| batch_object(job, call.now);
    Ok(reply::json(&page(call, jobs, |job| &job.id, show)))
}

pub(super) fn cancel(call: &SimulatedCall, id: &str) -> CallResult {
    let mut account = call.account.lock();
    let job = account.job(id, call.now)?;
    match job.phase(call.now) {
        JobPhase::Ended(_) => {
            let answer = batch_object(job, call.now);
            let status = answer.get("status").and_then(Value::as_str);
            let status = status.unwrap_or_default();
            let message = format!("Cannot cancel a batch with status '{status}'.");
            return Err(SimulatedRefusal::new(409, message).into());
        }
        JobPhase::Cancelling => {}
        JobPhase::Validating | JobPhase::Running | JobPhase::Finalizing => {
            job.cancel_at = Some(call.now);
        }
    }
    Ok(reply::json(&batch_object(job, call.now)))
}
