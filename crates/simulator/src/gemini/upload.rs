//! Resumable uploads: start, upload at an offset, finalize.

use axum::body::Body;
use axum::response::Response;
use chrono::TimeDelta;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::files::file_object;
use crate::account::{ResumableUpload, SimulatedFile};
use crate::call::{CallResult, SimulatedCall};
use crate::fault::FaultName;
use crate::refusal::{CallRejection, SimulatedRefusal};
use crate::reply;

const MAX_UPLOAD_BYTES: usize = 2 * 1024 * 1024 * 1024;
const MAX_PIECE_BYTES: usize = 256 * 1024 * 1024;

const UPLOAD_STATUS_HEADER: HeaderName = HeaderName::from_static("x-goog-upload-status");

/// Upload calls have no credential, so the upload id contains the account.
pub fn upload_account(upload_id: &str) -> Option<String> {
    let (account, _) = upload_id.split_once('-')?;
    String::from_utf8(hex::decode(account).ok()?).ok()
}

pub(super) async fn route(mut call: SimulatedCall) -> CallResult {
    let command = call
        .header("x-goog-upload-command")
        .unwrap_or_default()
        .to_owned();
    let is = |word: &str| command.split(',').any(|it| it.trim() == word);
    if is("start") {
        return start(&mut call).await;
    }
    let id = call.query.get("upload_id").cloned().unwrap_or_default();
    if is("query") {
        let account = call.account.lock();
        let upload = account
            .uploads
            .get(&id)
            .ok_or_else(|| no_such_upload(&id))?;
        return Ok(active_response(upload.received.len()));
    }
    if is("cancel") {
        call.account.lock().uploads.remove(&id);
        return Ok(with_status(Response::new(Body::empty()), "cancelled"));
    }
    if is("upload") {
        let received = receive_piece(&mut call, &id).await?;
        if !is("finalize") {
            return Ok(active_response(received));
        }
    } else if !is("finalize") {
        return Err(SimulatedRefusal::new(400, "no such X-Goog-Upload-Command").into());
    }
    finish(&call, &id)
}

async fn start(call: &mut SimulatedCall) -> CallResult {
    let header = |name: &str| call.header(name).map(str::to_owned);
    let length = header("x-goog-upload-header-content-length");
    let length: usize = length.and_then(|it| it.parse().ok()).unwrap_or(0);
    if length > MAX_UPLOAD_BYTES {
        return Err(SimulatedRefusal::new(400, "File is larger than 2 GB").into());
    }
    let mime_type = header("x-goog-upload-header-content-type");
    let named: Value = call.json(64 * 1024).await?;
    let file = named.get("file").cloned().unwrap_or_default();
    let name = file.get("displayName").or_else(|| file.get("display_name"));
    let upload = ResumableUpload {
        display_name: name.and_then(Value::as_str).unwrap_or_default().to_owned(),
        mime_type: mime_type.unwrap_or_default(),
        ..ResumableUpload::default()
    };
    let mut account = call.account.lock();
    let id = format!("{}-{}", hex::encode(&account.name), account.unique_hex(24));
    account.uploads.insert(id.clone(), upload);
    let origin = &call.origin;
    let url =
        format!("{origin}/gemini/upload/v1beta/files?upload_id={id}&upload_protocol=resumable");
    let mut response = active_response(0);
    if let Ok(url) = HeaderValue::from_str(&url) {
        let name = HeaderName::from_static("x-goog-upload-url");
        response.headers_mut().insert(name, url);
    }
    Ok(response)
}

/// Appends a piece and returns the size so far.
async fn receive_piece(call: &mut SimulatedCall, id: &str) -> Result<usize, CallRejection> {
    let offset = call.header("x-goog-upload-offset");
    let offset: Option<usize> = offset.and_then(|it| it.parse().ok());
    let bytes = call.bytes(MAX_PIECE_BYTES).await?;
    let mut account = call.account.lock();
    let upload = account
        .uploads
        .get_mut(id)
        .ok_or_else(|| no_such_upload(id))?;
    if offset != Some(upload.received.len()) {
        let message = format!("the upload is at offset {}", upload.received.len());
        return Err(SimulatedRefusal::new(400, message).into());
    }
    upload.received.extend_from_slice(&bytes);
    Ok(upload.received.len())
}

fn finish(call: &SimulatedCall, id: &str) -> CallResult {
    let now = call.now;
    let mut account = call.account.lock();
    let upload = account
        .uploads
        .remove(id)
        .ok_or_else(|| no_such_upload(id))?;
    let seconds = |fault: Option<crate::fault::SimulatedFault>| {
        let seconds = fault.map_or(0, |fault| fault.seconds.unwrap_or(1));
        TimeDelta::seconds(i64::from(seconds))
    };
    let file = SimulatedFile {
        id: account.unique_hex(12),
        filename: upload.display_name,
        purpose: String::new(),
        mime_type: upload.mime_type,
        bytes: upload.received.freeze(),
        created_at: now,
        visible_at: now + seconds(account.faults.fire(FaultName::FileLag)),
        ready_at: now + seconds(account.faults.fire(FaultName::FileProcessing)),
        is_failed: account.faults.fire(FaultName::FileFailed).is_some(),
        expires_at: now + TimeDelta::hours(48),
    };
    let answer = json!({"file": file_object(&file, now, &call.origin)});
    account.files.push(file);
    Ok(with_status(reply::json(&answer), "final"))
}

fn no_such_upload(id: &str) -> CallRejection {
    SimulatedRefusal::not_found("upload", id).into()
}

fn active_response(received: usize) -> Response {
    let mut response = with_status(Response::new(Body::empty()), "active");
    let name = HeaderName::from_static("x-goog-upload-size-received");
    response
        .headers_mut()
        .insert(name, HeaderValue::from(received));
    response
}

fn with_status(mut response: Response, status: &'static str) -> Response {
    response
        .headers_mut()
        .insert(UPLOAD_STATUS_HEADER, HeaderValue::from_static(status));
    response
}
