//! Files: inputs that were uploaded, and outputs that are made when they are read.

use axum::body::Body;
use axum::response::Response;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::output::{self, Output};
use super::page;
use crate::account::StoredFile;
use crate::call::{Answered, Call, aside};
use crate::clock::Moment;
use crate::fault::Name;
use crate::form;
use crate::form::Part;
use crate::refusal::{No, Refusal};
use crate::reply;

const LARGEST: usize = 512 * 1024 * 1024;
const LIFE: TimeDelta = TimeDelta::days(30);

pub(super) async fn create(mut call: Call) -> Answered {
    let mut parts = form::read(&mut call, LARGEST).await?;
    let text = |name: &str| {
        let part = parts.iter().find(|part| part.name == name);
        part.map(Part::text)
    };
    let purpose = text("purpose").ok_or_else(|| missing("purpose"))?;
    let seconds = text("expires_after[seconds]").and_then(|it| it.parse().ok());
    let place = parts.iter().position(|part| part.name == "file");
    let file = parts.swap_remove(place.ok_or_else(|| missing("file"))?);
    let now = call.now;
    let mut account = call.account.lock();
    let lag = account.faults.fire(Name::FileLag);
    let lag = lag.map_or(0, |fault| fault.seconds.unwrap_or(1));
    let file = StoredFile {
        id: format!("file-{}", account.fresh(24)),
        filename: file.filename.unwrap_or_default(),
        purpose,
        mime_type: "application/jsonl".to_owned(),
        bytes: file.bytes,
        created_at: now,
        visible_at: now + TimeDelta::seconds(i64::from(lag)),
        ready_at: now,
        is_failed: false,
        expires_at: now + seconds.map_or(LIFE, TimeDelta::seconds),
    };
    let mut answer = object(&file);
    // Only a later look fills it in.
    if let Some(expires_at) = answer.get_mut("expires_at") {
        *expires_at = Value::Null;
    }
    account.files.push(file);
    Ok(reply::json(&answer))
}

fn missing(what: &str) -> No {
    let message = format!("'{what}' is a required property");
    Refusal::new(400, message).param(what).into()
}

fn object(file: &StoredFile) -> Value {
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

pub(super) fn list(call: &Call) -> Response {
    let now = call.now;
    let account = call.account.lock();
    let purpose = call.query.get("purpose");
    let mut seen: Vec<StoredFile> = account
        .files
        .iter()
        .filter(|file| file.visible_at <= now && now < file.expires_at)
        .filter(|file| purpose.is_none_or(|wanted| *wanted == file.purpose))
        .cloned()
        .collect();
    if call.query.get("order").map(String::as_str) != Some("asc") {
        seen.reverse();
    }
    reply::json(&page(call, seen, |file| &file.id, object))
}

pub(super) async fn show(call: Call, id: &str) -> Answered {
    let (now, wanted) = (call.now, id.to_owned());
    if let Some(found) = find_output(&call, id, now) {
        let bytes = aside(move || found.size()).await?;
        let job_ended_at = bytes.1;
        return Ok(reply::json(&json!({
            "object": "file",
            "id": wanted,
            "purpose": "batch_output",
            "filename": format!("{wanted}.jsonl"),
            "bytes": bytes.0,
            "created_at": job_ended_at.timestamp(),
            "expires_at": (job_ended_at + LIFE).timestamp(),
            "status": "processed",
            "status_details": null,
        })));
    }
    let account = call.account.lock();
    Ok(reply::json(&object(account.file(id, now)?)))
}

pub(super) fn content(call: &Call, id: &str) -> Answered {
    let now = call.now;
    let is_cut = {
        let mut account = call.account.lock();
        account.refuse_if(Name::Download500, |_| {
            Refusal::new(500, "simulated failure")
        })?;
        account.faults.fire(Name::TruncateDownload).is_some()
    };
    if let Some(found) = find_output(call, id, now) {
        return Ok(output::stream(found, is_cut));
    }
    let account = call.account.lock();
    let bytes = account.file(id, now)?.bytes.clone();
    Ok(Response::new(Body::from(bytes)))
}

pub(super) fn delete(call: &Call, id: &str) -> Answered {
    let mut account = call.account.lock();
    account.file(id, call.now)?;
    account.files.retain(|file| file.id != id);
    Ok(reply::json(
        &json!({"id": id, "object": "file", "deleted": true}),
    ))
}

/// The results of a job under this id, while they are kept.
fn find_output(call: &Call, id: &str, now: Moment) -> Option<Output> {
    let account = call.account.lock();
    let found = account.jobs.iter().find_map(|job| Output::named(job, id))?;
    let ended_at = found.job.timeline().ended_at;
    (ended_at <= now && now < ended_at + LIFE).then_some(found)
}
