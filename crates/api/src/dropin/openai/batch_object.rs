//! The object of a batch: every field is present, and null if it is not set.

use domain::time::Timestamp;
use serde_json::{Value, json};
use store::shard::dropin::DropinBatch;

use crate::dropin::openai::file_id::{batch_id, input_file_id, result_file_id};
use crate::dropin::openai::options::BatchOptions;
use crate::dropin::openai::result_line::ResultFile;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchStatus {
    /// The unpacker loads the items.
    Validating,
    InProgress,
    /// All items have ended, and the batch is about to.
    Finalizing,
    Completed,
    Failed,
    Expired,
    Cancelling,
    Cancelled,
}

impl BatchStatus {
    pub(crate) fn of(batch: &DropinBatch) -> Self {
        if batch.failed_at.is_some() {
            return Self::Failed;
        }
        let is_cancelled = batch.times.cancel_requested_at.is_some();
        match (batch.ended_at(), is_cancelled) {
            (Some(_), true) => Self::Cancelled,
            (Some(_), false) if batch.expired > 0 => Self::Expired,
            (Some(_), false) => Self::Completed,
            (None, true) => Self::Cancelling,
            (None, false) if batch.unpacked_at.is_none() => Self::Validating,
            (None, false) if batch.unfinished() == 0 => Self::Finalizing,
            (None, false) => Self::InProgress,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Validating => "validating",
            Self::InProgress => "in_progress",
            Self::Finalizing => "finalizing",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
        }
    }

    pub(crate) const fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Expired | Self::Cancelled => true,
            Self::Validating | Self::InProgress | Self::Finalizing | Self::Cancelling => false,
        }
    }
}

/// The end of the batch, if this file has lines. Results of a batch that the retention deleted are
/// gone.
pub(crate) fn result_file_since(batch: &DropinBatch, file: ResultFile) -> Option<Timestamp> {
    let counts = batch.counts;
    let lines = match file {
        ResultFile::Output => counts.succeeded,
        ResultFile::Error => counts.failed + counts.cancelled,
    };
    let is_there = lines > 0 && batch.failed_at.is_none() && batch.archived_at.is_none();
    batch.ended_at().filter(|_| is_there)
}

pub(crate) fn write_batch(batch: &DropinBatch) -> Value {
    let status = BatchStatus::of(batch);
    let options = BatchOptions::read(batch.options.as_deref());
    let ended_at = batch.ended_at();
    let at = |moment: Option<Timestamp>| moment.map(|moment| moment.timestamp());
    let if_status = |wanted: BatchStatus| at(ended_at.filter(|_| status == wanted));
    let file = |file: ResultFile| {
        result_file_since(batch, file).map(|_| result_file_id(batch.group, file))
    };
    let finalizing = matches!(status, BatchStatus::Finalizing | BatchStatus::Completed);
    let finalizing_at = batch.times.completed_at.or(batch.unpacked_at);
    json!({
        "id": batch_id(batch.group),
        "object": "batch",
        "endpoint": options.as_ref().map_or("", |it| it.endpoint.as_str()),
        "model": null,
        "errors": errors(batch),
        "input_file_id": input_file_id(batch.parcel),
        "completion_window": options.as_ref().map_or("24h", |it| it.completion_window.as_str()),
        "status": status.as_str(),
        "output_file_id": file(ResultFile::Output),
        "error_file_id": file(ResultFile::Error),
        "created_at": batch.times.created_at.timestamp(),
        "in_progress_at": at(batch.unpacked_at.filter(|_| batch.failed_at.is_none())),
        "expires_at": batch.expires_at.timestamp(),
        "finalizing_at": at(finalizing_at.filter(|_| finalizing)),
        "completed_at": if_status(BatchStatus::Completed),
        "failed_at": at(batch.failed_at),
        "expired_at": if_status(BatchStatus::Expired),
        "cancelling_at": at(batch.times.cancel_requested_at),
        "cancelled_at": if_status(BatchStatus::Cancelled),
        "request_counts": {
            "total": batch.items,
            "completed": batch.counts.succeeded,
            "failed": batch.counts.failed,
        },
        "metadata": options.and_then(|it| it.metadata),
    })
}

/// Why the whole batch failed: a list of errors, as its checks stored it, or one error.
fn errors(batch: &DropinBatch) -> Value {
    let Some(stored) = batch.failure.as_deref() else {
        return Value::Null;
    };
    let data = match serde_json::from_slice::<Value>(stored) {
        Ok(Value::Array(errors)) => errors,
        Ok(error @ Value::Object(_)) => vec![one_error(&error)],
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | Err(_) => {
            Vec::new()
        }
    };
    json!({"object": "list", "data": data})
}

/// An error of the unpacker: its code and message.
fn one_error(error: &Value) -> Value {
    let field = |names: [&str; 2]| names.into_iter().find_map(|name| error.get(name)).cloned();
    json!({
        "code": field(["code", "error"]),
        "line": null,
        "message": field(["message", "detail"]),
        "param": null,
    })
}

#[cfg(test)]
mod tests;
