//! A batch as Anthropic writes it.

use domain::time::{Timestamp, to_wire};
use serde::Serialize;
use store::shard::dropin::DropinBatch;

use crate::dropin::batch_id::message_batch_id;

/// The counts are live. Their sum is the number of items at every moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct MessageBatch {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    pub(super) processing_status: ProcessingStatus,
    request_counts: RequestCounts,
    ended_at: Option<String>,
    created_at: String,
    expires_at: String,
    archived_at: Option<String>,
    cancel_initiated_at: Option<String>,
    results_url: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProcessingStatus {
    InProgress,
    Canceling,
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct RequestCounts {
    processing: u64,
    succeeded: u64,
    errored: u64,
    canceled: u64,
    expired: u64,
}

/// `origin` is where this request came to: clients send their key nowhere else.
pub(super) fn batch_object(batch: &DropinBatch, origin: &str) -> MessageBatch {
    let id = message_batch_id(batch.group);
    let (times, counts, ended_at) = (&batch.times, &batch.counts, batch.ended_at());
    let processing_status = match (ended_at, times.cancel_requested_at) {
        (Some(_), _) => ProcessingStatus::Ended,
        (None, Some(_)) => ProcessingStatus::Canceling,
        (None, None) => ProcessingStatus::InProgress,
    };
    let has_results = ended_at.is_some() && batch.archived_at.is_none();
    let results_url =
        has_results.then(|| format!("{origin}/anthropic/v1/messages/batches/{id}/results"));
    // Items that a failed batch did not load have no result.
    let lost = batch.failed_at.map_or(0, |_| batch.unfinished());
    let text = |moment: Option<Timestamp>| moment.map(to_wire);
    MessageBatch {
        kind: "message_batch",
        processing_status,
        request_counts: RequestCounts {
            processing: if ended_at.is_some() {
                0
            } else {
                batch.unfinished()
            },
            succeeded: counts.succeeded,
            errored: counts.failed.saturating_sub(batch.expired) + lost,
            canceled: counts.cancelled,
            expired: batch.expired,
        },
        ended_at: text(ended_at),
        created_at: to_wire(times.created_at),
        expires_at: to_wire(batch.expires_at),
        archived_at: text(batch.archived_at),
        cancel_initiated_at: text(times.cancel_requested_at),
        results_url,
        id,
    }
}
