//! Files: uploads, which cannot be downloaded, and results, which can.

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, header};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::format_time;
use super::results;
use crate::account::SimulatedFile;
use crate::call::{CallResult, SimulatedCall};
use crate::clock::SimulatorTime;
use crate::fault::FaultName;
use crate::job::{JobEnd, JobPhase};
use crate::refusal::SimulatedRefusal;
use crate::reply;

/// `files.get` refuses longer ids.
const MAX_FILE_ID_CHARS: usize = 40;

pub(super) fn file_object(file: &SimulatedFile, now: SimulatorTime, origin: &str) -> Value {
    let state = if file.ready_at > now {
        "PROCESSING"
    } else if file.is_failed {
        "FAILED"
    } else {
        "ACTIVE"
    };
    let digest = hex::encode(Sha256::digest(&file.bytes));
    let mut object = json!({
        "name": format!("files/{}", file.id),
        "displayName": file.filename,
        "mimeType": file.mime_type,
        "sizeBytes": file.bytes.len().to_string(),
        "createTime": format_time(file.created_at),
        "updateTime": format_time(file.created_at),
        "expirationTime": format_time(file.expires_at),
        // Google encodes the hex digits, not the bytes.
        "sha256Hash": STANDARD.encode(digest),
        "uri": format!("{origin}/gemini/v1beta/files/{}", file.id),
        "state": state,
        "source": "UPLOADED",
    });
    if let (Some(object), "FAILED") = (object.as_object_mut(), state) {
        let error = json!({"code": 13, "message": "The file failed to be processed."});
        object.insert("error".to_owned(), error);
    }
    object
}

pub(super) fn show(call: &SimulatedCall, id: &str) -> CallResult {
    if id.len() > MAX_FILE_ID_CHARS {
        let message = "* GetFileRequest.name: name must be at most 40 characters";
        return Err(SimulatedRefusal::new(400, message).into());
    }
    let account = call.account.lock();
    let file = account.file(id, call.now)?;
    Ok(reply::json(&file_object(file, call.now, &call.origin)))
}

pub(super) fn list(call: &SimulatedCall) -> Response {
    let account = call.account.lock();
    let files: Vec<Value> = account
        .files
        .iter()
        .rev()
        .filter(|file| account.file(&file.id, call.now).is_ok())
        .map(|file| file_object(file, call.now, &call.origin))
        .collect();
    reply::json(&json!({"files": files}))
}

pub(super) fn delete(call: &SimulatedCall, id: &str) -> CallResult {
    let mut account = call.account.lock();
    account.file(id, call.now)?;
    account.files.retain(|file| file.id != id);
    Ok(reply::json(&json!({})))
}

pub(super) fn download(call: &SimulatedCall, id: &str) -> CallResult {
    let mut account = call.account.lock();
    account.refuse_if(FaultName::Download500, |_| {
        SimulatedRefusal::new(500, "simulated failure")
    })?;
    account.refuse_if(FaultName::ResultsGone, |_| {
        SimulatedRefusal::not_found("file", id)
    })?;
    let is_cut = account.faults.fire(FaultName::TruncateDownload).is_some();
    let job = account.jobs.iter().find(|job| results::file_id(job) == id);
    let job = job.filter(|job| job.phase(call.now) == JobPhase::Ended(JobEnd::Completed));
    let Some(job) = job.filter(|job| !job.is_deleted).cloned() else {
        if account.file(id, call.now).is_ok() {
            return Err(
                SimulatedRefusal::new(400, "Only generated files can be downloaded.").into(),
            );
        }
        return Err(SimulatedRefusal::not_found("file", id).into());
    };
    let lines = job.main_lines(|_| true);
    let mut response =
        reply::stream_lines(lines, is_cut, move |line| results::render_line(&job, line));
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
