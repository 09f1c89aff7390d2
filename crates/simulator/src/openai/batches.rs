//! Batches: created from a file, asked about, listed and cancelled.

use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::Value;

use super::object::object;
use super::page;
use super::read;
use crate::account::Draft;
use crate::call::{Answered, Call, aside};
use crate::job::{Order, Phase};
use crate::manifest::Manifest;
use crate::question::Kind;
use crate::refusal::{No, Refusal};
use crate::reply;

#[derive(Debug, Deserialize)]
struct Create {
    input_file_id: Option<String>,
    endpoint: Option<String>,
    completion_window: Option<String>,
    #[serde(default)]
    metadata: Value,
}

pub(super) async fn create(mut call: Call) -> Answered {
    let asked: Create = call.json(1024 * 1024).await?;
    let file = {
        let account = call.account.lock();
        let id = asked.input_file_id.as_deref().unwrap_or_default();
        account.file(id, call.now).map(|file| file.bytes.clone())
    };
    let (kind, mut refusal) = match judge(&asked) {
        Ok(kind) => (kind, None),
        Err(refusal) => (Kind::Chat, Some(refusal)),
    };
    let endpoint = asked.endpoint.unwrap_or_default();
    let input = match file {
        Ok(bytes) => {
            let endpoint = endpoint.clone();
            aside(move || read::read(&bytes, kind, &endpoint)).await?
        }
        Err(no) => {
            if let (No::Refused(missing), None) = (no, &refusal) {
                refusal = Some(*missing);
            }
            read::Input {
                manifest: Manifest::default(),
                model: String::new(),
                objections: Vec::new(),
            }
        }
    };
    let label = asked.metadata.get("submission_id").and_then(Value::as_str);
    let draft = Draft {
        objections: input.objections,
        refusal,
        window: TimeDelta::hours(24),
        order: Order {
            kind,
            model: input.model,
            label: label.map(str::to_owned),
            manifest: input.manifest,
            endpoint,
            input_file: asked.input_file_id,
            metadata: asked.metadata.clone(),
        },
    };
    let created = call.account.lock().create(draft, call.now)?;
    let answer = object(&created.job, call.now);
    Ok(reply::tell(created.telling, &answer).await)
}

/// What the call itself must have.
fn judge(asked: &Create) -> Result<Kind, Refusal> {
    if asked.input_file_id.is_none() {
        return Err(
            Refusal::new(400, "Missing required parameter: 'input_file_id'.")
                .param("input_file_id"),
        );
    }
    if asked.completion_window.as_deref() != Some("24h") {
        return Err(Refusal::new(
            400,
            "Invalid value: 'completion_window'. Supported values are: '24h'.",
        )
        .param("completion_window"));
    }
    let pairs = asked.metadata.as_object();
    let is_too_much = pairs.is_some_and(|pairs| {
        let long = |(name, value): (&String, &Value)| {
            name.len() > 64 || value.as_str().is_none_or(|value| value.len() > 512)
        };
        pairs.len() > 16 || pairs.iter().any(long)
    });
    if is_too_much {
        return Err(Refusal::new(
            400,
            "Invalid 'metadata': at most 16 pairs of 64 and 512 characters.",
        )
        .param("metadata"));
    }
    match asked.endpoint.as_deref() {
        Some("/v1/chat/completions") => Ok(Kind::Chat),
        Some("/v1/embeddings") => Ok(Kind::Embedding),
        _ => Err(Refusal::new(400, "Invalid value: 'endpoint'. The simulator has '/v1/chat/completions' and '/v1/embeddings'.").param("endpoint")),
    }
}

pub(super) fn show(call: &Call, id: &str) -> Answered {
    let mut account = call.account.lock();
    let job = account.poll(id, call.now)?;
    Ok(reply::json(&object(job, call.now)))
}

pub(super) fn list(call: &Call) -> Answered {
    if call
        .number("limit")
        .is_some_and(|limit| !(1..=100).contains(&limit))
    {
        return Err(Refusal::new(400, "Invalid 'limit': must be from 1 to 100.")
            .param("limit")
            .into());
    }
    let jobs = call.account.lock().listed(call.now)?;
    let show = |job: &crate::job::Job| object(job, call.now);
    Ok(reply::json(&page(call, jobs, |job| &job.id, show)))
}

pub(super) fn cancel(call: &Call, id: &str) -> Answered {
    let mut account = call.account.lock();
    let job = account.job(id, call.now)?;
    match job.phase(call.now) {
        Phase::Ended(_) => {
            let answer = object(job, call.now);
            let status = answer.get("status").and_then(Value::as_str);
            let status = status.unwrap_or_default();
            let message = format!("Cannot cancel a batch with status '{status}'.");
            return Err(Refusal::new(409, message).into());
        }
        Phase::Cancelling => {}
        Phase::Validating | Phase::Running | Phase::Finalizing => job.cancel_at = Some(call.now),
    }
    Ok(reply::json(&object(job, call.now)))
}
