//! Files that a message can refer to. They are stored and never read.

use chrono::TimeDelta;
use serde_json::json;

use super::format_time;
use crate::account::SimulatedFile;
use crate::call::{CallResult, SimulatedCall};
use crate::form;
use crate::refusal::SimulatedRefusal;
use crate::reply;

const MAX_FILE_BYTES: usize = 500 * 1024 * 1024;

pub(super) async fn create(mut call: SimulatedCall) -> CallResult {
    let parts = form::read_form(&mut call, MAX_FILE_BYTES).await?;
    let part = parts.into_iter().find(|part| part.name == "file");
    let part = part.ok_or_else(|| SimulatedRefusal::new(400, "file: Field required"))?;
    let now = call.now;
    let mut account = call.account.lock();
    let mime_type = part.mime_type;
    let file = SimulatedFile {
        id: format!("file_{}", account.unique_hex(24)),
        filename: part.filename.unwrap_or_default(),
        purpose: String::new(),
        mime_type: mime_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
        bytes: part.bytes,
        created_at: now,
        visible_at: now,
        ready_at: now,
        is_failed: false,
        expires_at: now + TimeDelta::days(36500),
    };
    let answer = json!({
        "id": file.id,
        "type": "file",
        "filename": file.filename,
        "mime_type": file.mime_type,
        "size_bytes": file.bytes.len(),
        "created_at": format_time(now),
        "downloadable": false,
    });
    account.files.push(file);
    Ok(reply::json(&answer))
}
