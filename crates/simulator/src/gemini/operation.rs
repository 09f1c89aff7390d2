//! A batch as a long-running operation. Counts are strings, and zeros are omitted.

use serde_json::{Map, Value, json};

use super::format_time;
use super::results;
use crate::clock::SimulatorTime;
use crate::fault::FaultName;
use crate::job::{JobEnd, JobPhase, SimulatedJob};
use crate::request::TaskKind;

pub(super) fn operation(job: &SimulatedJob, now: SimulatorTime) -> Value {
    let phase = job.phase(now);
    let name = format!("batches/{}", job.id);
    let kind = match job.request.kind {
        TaskKind::Chat | TaskKind::Responses => "GenerateContentBatch",
        TaskKind::Embedding => "EmbedContentBatch",
    };
    let kind = format!("type.googleapis.com/google.ai.generativelanguage.v1main.{kind}");
    let updated_at = job.timeline().ended_at.min(now);
    let mut metadata = json!({
        "@type": kind,
        "model": format!("models/{}", job.request.model),
        "displayName": job.request.label,
        "state": state(job, phase),
        "createTime": format_time(job.created_at),
        "updateTime": format_time(updated_at),
        "batchStats": stats(job, now),
        "name": name,
    });
    let mut operation = json!({"name": name});
    let (Some(metadata_fields), Some(fields)) =
        (metadata.as_object_mut(), operation.as_object_mut())
    else {
        return Value::Null;
    };
    if job.request.label.is_none() {
        metadata_fields.remove("displayName");
    }
    if let JobPhase::Ended(end) = phase {
        metadata_fields.insert("endTime".to_owned(), format_time(updated_at));
        fields.insert("done".to_owned(), json!(true));
        if end == JobEnd::Completed {
            let mut output = output(job);
            metadata_fields.insert("output".to_owned(), output.clone());
            if let Some(output) = output.as_object_mut() {
                output.insert("@type".to_owned(), json!(kind));
            }
            fields.insert("response".to_owned(), output);
        } else {
            fields.insert("error".to_owned(), error(job, end));
        }
    }
    fields.insert("metadata".to_owned(), metadata);
    operation
}

fn state(job: &SimulatedJob, phase: JobPhase) -> &'static str {
    match phase {
        JobPhase::Validating => "BATCH_STATE_PENDING",
        // A stuck job never starts at Gemini.
        JobPhase::Running if job.has(FaultName::Stuck) => "BATCH_STATE_PENDING",
        JobPhase::Running | JobPhase::Finalizing | JobPhase::Cancelling => "BATCH_STATE_RUNNING",
        JobPhase::Ended(JobEnd::Completed) => "BATCH_STATE_SUCCEEDED",
        JobPhase::Ended(JobEnd::Failed) => "BATCH_STATE_FAILED",
        JobPhase::Ended(JobEnd::Expired) => "BATCH_STATE_EXPIRED",
        JobPhase::Ended(JobEnd::Cancelled) => "BATCH_STATE_CANCELLED",
    }
}

fn stats(job: &SimulatedJob, now: SimulatorTime) -> Value {
    let counts = job.counts(now);
    let pending = job.total() - counts.answered - counts.failed;
    let all = [
        ("requestCount", job.total()),
        ("successfulRequestCount", counts.answered),
        ("failedRequestCount", counts.failed),
        ("pendingRequestCount", pending),
    ];
    let stats: Map<String, Value> = all
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (name.to_owned(), json!(count.to_string())))
        .collect();
    Value::Object(stats)
}

/// The name of the results file, or the inline results.
fn output(job: &SimulatedJob) -> Value {
    if job.request.input_file.is_some() && !job.has(FaultName::InlineAnswer) {
        return json!({"responsesFile": format!("files/{}", results::file_id(job))});
    }
    let field = match job.request.kind {
        TaskKind::Chat | TaskKind::Responses => "inlinedResponses",
        TaskKind::Embedding => "inlinedEmbedContentResponses",
    };
    json!({field: {"inlinedResponses": results::inlined(job)}})
}

fn error(job: &SimulatedJob, end: JobEnd) -> Value {
    match end {
        JobEnd::Failed => {
            let message = job.validation_errors.first().map(|it| it.message.clone());
            json!({"code": 3, "message": message.unwrap_or_default()})
        }
        JobEnd::Cancelled => json!({"code": 1, "message": "The operation was cancelled."}),
        JobEnd::Expired | JobEnd::Completed => {
            json!({"code": 4, "message": "The batch expired before it was processed."})
        }
    }
}
