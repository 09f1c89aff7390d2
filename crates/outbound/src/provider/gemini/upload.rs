//! The resumable upload: an address is asked for, and the bytes go there piece by piece.

use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;

use crate::provider::call::{CallFailure, Caller, Effect, Payload, escaped};
use crate::provider::jobs::{Label, Upload};
use crate::provider::spool::Spool;

const PIECE: u64 = 8 * 1024 * 1024;
/// A file is looked at so often until it can be used.
const LOOKS: u32 = 30;

#[derive(Debug, Deserialize)]
struct Uploaded {
    file: File,
}

#[derive(Debug, Deserialize)]
struct File {
    name: String,
    #[serde(default)]
    state: String,
}

pub(super) async fn upload(
    caller: &Caller,
    label: &Label,
    spool: &Spool,
) -> Result<Upload, CallFailure> {
    let to = start(caller, label, spool).await?;
    let file = send(caller, &to, spool).await?;
    usable(caller, file).await
}

async fn start(caller: &Caller, label: &Label, spool: &Spool) -> Result<String, CallFailure> {
    let body = json!({"file": {"displayName": label.0}});
    let call = caller
        .post("/upload/v1beta/files", Payload::json(&body), Effect::None)
        .header("x-goog-upload-protocol", "resumable")
        .header("x-goog-upload-command", "start")
        .header(
            "x-goog-upload-header-content-length",
            spool.length().to_string(),
        )
        .header("x-goog-upload-header-content-type", "application/jsonl");
    let answer = caller.ask(call).await?;
    let to = answer.header("x-goog-upload-url").map(str::to_owned);
    to.ok_or(CallFailure::Unreadable)
}

async fn send(caller: &Caller, to: &str, spool: &Spool) -> Result<File, CallFailure> {
    let mut offset = 0;
    loop {
        let piece = spool.part(offset, PIECE);
        let next = offset + piece.length();
        let is_last = next >= spool.length();
        let command = if is_last {
            "upload, finalize"
        } else {
            "upload"
        };
        let mut call = caller
            .post(to, Payload::chunks(piece), Effect::None)
            .header("x-goog-upload-offset", offset.to_string())
            .header("x-goog-upload-command", command);
        call.within = caller.patience.transfer;
        if is_last {
            return Ok(caller.read::<Uploaded>(call).await?.0.file);
        }
        caller.ask(call).await?;
        offset = next;
    }
}

/// A job must not name a file that is still being looked at.
async fn usable(caller: &Caller, mut file: File) -> Result<Upload, CallFailure> {
    for _ in 0..LOOKS {
        match file.state.as_str() {
            "PROCESSING" => sleep(caller.patience.moment).await,
            "FAILED" => return Err(CallFailure::unavailable("the upload was not taken")),
            _ => return Ok(Upload(file.name)),
        }
        let path = format!("/v1beta/{}", escaped(&file.name));
        file = caller.read(caller.get(path)).await?.0;
    }
    Err(CallFailure::unavailable(
        "the upload is still being looked at",
    ))
}
