//! Files: uploaded inputs, and outputs that are rendered on each read.

use axum::body::Body;
use axum::response::Response;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::output::{self, OutputFile};
use super::page;
use crate::account::SimulatedFile;
use crate::call::{CallResult, SimulatedCall, run_blocking};
use crate::clock::SimulatorTime;
use crate::fault::FaultName;
use crate::form;
use crate::form::FormPart;
use crate::refusal::{CallRejection, SimulatedRefusal};
use crate::reply;

const MAX_FILE_BYTES: usize = 512 * 1024 * 1024;
const FILE_LIFETIME: TimeDelta = TimeDelta::days(30);

pub(super) async fn create(mut call: SimulatedCall) -> CallResult {
    let mut parts = form::read_form(&mut call, MAX_FILE_BYTES).await?;
    let text = |name: &str| {
        let part = parts.iter().find(|part| part.name == name);
        part.map(FormPart::text)
    };
    let purpose = text("purpose").ok_or_else(|| missing("purpose"))?;
    let seconds = text("expires_after[seconds]").and_then(|it| it.parse().ok());
    let index = parts.iter().position(|part| part.name == "file");
    let file = parts.swap_remove(index.ok_or_else(|| missing("file"))?);
    let now = call.now;
    let mut account = call.account.lock();
    let lag = account.faults.fire(FaultName::FileLag);
    let lag = lag.map_or(0, |fault| fault.seconds.unwrap_or(1));
    let file = SimulatedFile {
        id: format!("file-{}", account.unique_hex(24)),
        filename: file.filename.unwrap_or_default(),
        purpose,
        mime_type: "application/jsonl".to_owned(),
        bytes: file.bytes,
        created_at: now,
        visible_at: now + TimeDelta::seconds(i64::from(lag)),
        ready_at: now,
        is_failed: false,
        expires_at: now + seconds.map_or(FILE_LIFETIME, TimeDelta::seconds),
    };
    let mut answer = file_object(&file);
    // Only a later GET returns it.
    if let Some(expires_at) = answer.get_mut("expires_at") {
        *expires_at = Value::Null;
    }
    account.files.push(file);
    Ok(reply::json(&answer))
}

fn missing(what: &str) -> CallRejection {
    let message = format!("'{what}' is a required property");
    SimulatedRefusal::new(400, message).param(what).into()
}

fn file_object(file: &SimulatedFile) -> Value {
    json!({
        "object": "file",
        "id": file.id,
        "purpose": file.purpose,
        "filename": file.filename,
        "bytes": file.bytes.len(),
        "created_at": file.created_at.timestamp(),
        "expires_at": file.expires_at.timestamp(),
        "status": "processed",
        "status_details": null,
    })
}

pub(super) fn list(call: &SimulatedCall) -> Response {
    let now = call.now;
    let account = call.account.lock();
    let purpose = call.query.get("purpose");
    let mut seen: Vec<SimulatedFile> = account
        .files
        .iter()
        .filter(|file| file.visible_at <= now && now < file.expires_at)
        .filter(|file| purpose.is_none_or(|wanted| *wanted == file.purpose))
        .cloned()
        .collect();
    if call.query.get("order").map(String::as_str) != Some("asc") {
        seen.reverse();
    }
    reply::json(&page(call, seen, |file| &file.id, file_object))
}

pub(super) async fn show(call: SimulatedCall, id: &str) -> CallResult {
    let (now, file_id) = (call.now, id.to_owned());
    if let Some(found) = find_output(&call, id, now) {
        let bytes = run_blocking(move || found.size()).await?;
        let job_ended_at = bytes.1;
        return Ok(reply::json(&json!({
            "object": "file",
            "id": file_id,
            "purpose": "batch_output",
            "filename": format!("{file_id}.jsonl"),
            "bytes": bytes.0,
            "created_at": job_ended_at.timestamp(),
            "expires_at": (job_ended_at + FILE_LIFETIME).timestamp(),
            "status": "processed",
            "status_details": null,
        })));
    }
    let account = call.account.lock();
    Ok(reply::json(&file_object(account.file(id, now)?)))
}

pub(super) fn content(call: &SimulatedCall, id: &str) -> CallResult {
    let now = call.now;
    let is_cut = {
        let mut account = call.account.lock();
        account.refuse_if(FaultName::Download500, |_| {
            SimulatedRefusal::new(500, "simulated failure")
        })?;
        account.faults.fire(FaultName::TruncateDownload).is_some()
    };
    if let Some(found) = find_output(call, id, now) {
        return Ok(output::stream_output(found, is_cut));
    }
    let account = call.account.lock();
    let bytes = account.file(id, now)?.bytes.clone();
    Ok(Response::new(Body::from(bytes)))
}

pub(super) fn delete(call: &SimulatedCall, id: &str) -> CallResult {
    let is_output = find_output(call, id, call.now).is_some();
    let mut account = call.account.lock();
    if account.faults.fire(FaultName::DeleteIgnored).is_some() {
        // Confirmed, and the file stays.
    } else if is_output {
        account.deleted_outputs.insert(id.to_owned());
    } else {
        account.file(id, call.now)?;
        account.files.retain(|file| file.id != id);
    }
    Ok(reply::json(
        &json!({"id": id, "object": "file", "deleted": true}),
    ))
}

/// The output file with this id, while it is retained.
fn find_output(call: &SimulatedCall, id: &str, now: SimulatorTime) -> Option<OutputFile> {
    let account = call.account.lock();
    if account.deleted_outputs.contains(id) {
        return None;
    }
    let found = account
        .jobs
        .iter()
        .find_map(|job| OutputFile::find(job, id))?;
    let ended_at = found.job.timeline().ended_at;
    (ended_at <= now && now < ended_at + FILE_LIFETIME).then_some(found)
}
