//! The resumable upload: request an upload URL, then send the file in chunks.

use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;

use crate::percent_encoding::percent_encode_path;
use crate::provider::batch_provider::{ProviderFileId, SubmissionLabel};
use crate::provider::client::{
    ProviderCallFailure, ProviderClient, ProviderRequestBody, RetrySafety,
};
use crate::provider::spool::Spool;

const CHUNK_BYTES: u64 = 8 * 1024 * 1024;
/// Checks of the file's state before the upload fails.
const MAX_STATUS_CHECKS: u32 = 30;

#[derive(Debug, Deserialize)]
struct UploadResponse {
    file: File,
}

#[derive(Debug, Deserialize)]
struct File {
    name: String,
    #[serde(default)]
    state: String,
}

pub(super) async fn upload(
    caller: &ProviderClient,
    label: &SubmissionLabel,
    spool: &Spool,
) -> Result<ProviderFileId, ProviderCallFailure> {
    let to = start_upload(caller, label, spool).await?;
    let file = send_chunks(caller, &to, spool).await?;
    wait_until_usable(caller, file).await
}

async fn start_upload(
    caller: &ProviderClient,
    label: &SubmissionLabel,
    spool: &Spool,
) -> Result<String, ProviderCallFailure> {
    let body = json!({"file": {"displayName": label.0}});
    let call = caller
        .post(
            "/upload/v1beta/files",
            ProviderRequestBody::json(&body),
            RetrySafety::Safe,
        )
        .header("x-goog-upload-protocol", "resumable")
        .header("x-goog-upload-command", "start")
        .header(
            "x-goog-upload-header-content-length",
            spool.length().to_string(),
        )
        .header("x-goog-upload-header-content-type", "application/jsonl");
    let answer = caller.send(call).await?;
    let to = answer.header("x-goog-upload-url").map(str::to_owned);
    to.ok_or(ProviderCallFailure::UnreadableResponse)
}

async fn send_chunks(
    caller: &ProviderClient,
    to: &str,
    spool: &Spool,
) -> Result<File, ProviderCallFailure> {
    let mut offset = 0;
    loop {
        let piece = spool.range(offset, CHUNK_BYTES);
        let next = offset + piece.length();
        let is_last = next >= spool.length();
        let command = if is_last {
            "upload, finalize"
        } else {
            "upload"
        };
        let mut call = caller
            .post(
                to,
                ProviderRequestBody::from_spool(piece),
                RetrySafety::Safe,
            )
            .with_caller_input()
            .header("x-goog-upload-offset", offset.to_string())
            .header("x-goog-upload-command", command);
        call.timeout = caller.timeouts.transfer;
        if is_last {
            return Ok(caller.send_and_parse::<UploadResponse>(call).await?.0.file);
        }
        caller.send(call).await?;
        offset = next;
    }
}

/// A job must not reference a file that is still `PROCESSING`.
async fn wait_until_usable(
    caller: &ProviderClient,
    mut file: File,
) -> Result<ProviderFileId, ProviderCallFailure> {
    for _ in 0..MAX_STATUS_CHECKS {
        match file.state.as_str() {
            "PROCESSING" => sleep(caller.timeouts.file_poll_interval).await,
            "FAILED" => {
                return Err(ProviderCallFailure::unavailable(
                    "the provider failed to process the uploaded file",
                ));
            }
            _ => return Ok(ProviderFileId(file.name)),
        }
        let path = format!("/v1beta/{}", percent_encode_path(&file.name));
        file = caller.send_and_parse(caller.get(path)).await?.0;
    }
    Err(ProviderCallFailure::unavailable(
        "the provider is still processing the uploaded file",
    ))
}
