//! Files that a message can refer to. They are taken, and nobody looks into them.

use chrono::TimeDelta;
use serde_json::json;

use super::time;
use crate::account::StoredFile;
use crate::call::{Answered, Call};
use crate::form;
use crate::refusal::Refusal;
use crate::reply;

const LARGEST: usize = 500 * 1024 * 1024;

pub(super) async fn create(mut call: Call) -> Answered {
    let parts = form::read(&mut call, LARGEST).await?;
    let part = parts.into_iter().find(|part| part.name == "file");
    let part = part.ok_or_else(|| Refusal::new(400, "file: Field required"))?;
    let now = call.now;
    let mut account = call.account.lock();
    let mime_type = part.mime_type;
    let file = StoredFile {
        id: format!("file_{}", account.fresh(24)),
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
        "created_at": time(now),
        "downloadable": false,
    });
    account.files.push(file);
    Ok(reply::json(&answer))
}
