//! Files: those uploaded, which cannot be read back, and results, which can.

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, header};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::results;
use super::time;
use crate::account::StoredFile;
use crate::call::{Answered, Call};
use crate::clock::Moment;
use crate::fault::Name;
use crate::job::{End, Phase};
use crate::refusal::Refusal;
use crate::reply;

/// `files.get` takes no longer ids.
const LONGEST_ID: usize = 40;

pub(super) fn object(file: &StoredFile, now: Moment, origin: &str) -> Value {
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
        "createTime": time(file.created_at),
        "updateTime": time(file.created_at),
        "expirationTime": time(file.expires_at),
        // Google encodes the digits, not the bytes.
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

pub(super) fn show(call: &Call, id: &str) -> Answered {
    if id.len() > LONGEST_ID {
        let message = "* GetFileRequest.name: name must be at most 40 characters";
        return Err(Refusal::new(400, message).into());
    }
    let account = call.account.lock();
    let file = account.file(id, call.now)?;
    Ok(reply::json(&object(file, call.now, &call.origin)))
}

pub(super) fn list(call: &Call) -> Response {
    let account = call.account.lock();
    let files: Vec<Value> = account
        .files
        .iter()
        .rev()
        .filter(|file| account.file(&file.id, call.now).is_ok())
        .map(|file| object(file, call.now, &call.origin))
        .collect();
    reply::json(&json!({"files": files}))
}

pub(super) fn delete(call: &Call, id: &str) -> Answered {
    let mut account = call.account.lock();
    account.file(id, call.now)?;
    account.files.retain(|file| file.id != id);
    Ok(reply::json(&json!({})))
}

pub(super) fn download(call: &Call, id: &str) -> Answered {
    let mut account = call.account.lock();
    account.refuse_if(Name::Download500, |_| {
        Refusal::new(500, "simulated failure")
    })?;
    account.refuse_if(Name::ResultsGone, |_| Refusal::not_found("file", id))?;
    let is_cut = account.faults.fire(Name::TruncateDownload).is_some();
    let job = account.jobs.iter().find(|job| results::file_id(job) == id);
    let job = job.filter(|job| job.phase(call.now) == Phase::Ended(End::Completed));
    let Some(job) = job.filter(|job| !job.is_deleted).cloned() else {
        if account.file(id, call.now).is_ok() {
            return Err(Refusal::new(400, "Only generated files can be downloaded.").into());
        }
        return Err(Refusal::not_found("file", id).into());
    };
    let lines = job.main_lines(|_| true);
    let mut response = reply::lines(lines, is_cut, move |line| results::line(&job, line));
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
