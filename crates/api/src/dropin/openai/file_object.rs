//! The object of a file.

use domain::time::Timestamp;
use serde_json::{Value, json};
use store::shard::dropin::DropinBatch;
use store::shard::parcel::ParcelRow;

use crate::dropin::openai::file_id::{batch_id, input_file_id, result_file_id};
use crate::dropin::openai::result_line::ResultFile;

pub(crate) const INPUT_PURPOSE: &str = "batch";
pub(crate) const RESULT_PURPOSE: &str = "batch_output";
const DEFAULT_FILENAME: &str = "batch.jsonl";

struct FileFacts {
    id: String,
    bytes: u64,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    filename: String,
    purpose: &'static str,
}

pub(crate) fn write_input_file(file: &ParcelRow) -> Value {
    let filename = file.filename.clone();
    write(&FileFacts {
        id: input_file_id(file.id),
        bytes: file.bytes,
        created_at: file.created_at,
        expires_at: Some(file.expires_at),
        filename: filename.unwrap_or_else(|| DEFAULT_FILENAME.to_owned()),
        purpose: INPUT_PURPOSE,
    })
}

/// The size is not known: the file is written when it is read.
pub(crate) fn write_result_file(
    batch: &DropinBatch,
    file: ResultFile,
    ended_at: Timestamp,
) -> Value {
    let kind = match file {
        ResultFile::Output => "output",
        ResultFile::Error => "error",
    };
    write(&FileFacts {
        id: result_file_id(batch.group, file),
        bytes: 0,
        created_at: ended_at,
        expires_at: None,
        filename: format!("{}_{kind}.jsonl", batch_id(batch.group)),
        purpose: RESULT_PURPOSE,
    })
}

/// A file is processed at once: it is checked when a batch names it.
fn write(file: &FileFacts) -> Value {
    json!({
        "id": file.id,
        "object": "file",
        "bytes": file.bytes,
        "created_at": file.created_at.timestamp(),
        "expires_at": file.expires_at.map(|at| at.timestamp()),
        "filename": file.filename,
        "purpose": file.purpose,
        "status": "processed",
        "status_details": null,
    })
}
