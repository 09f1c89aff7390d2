//! A batch as a long-running operation: counts are strings, and zeros are left out.

use serde_json::{Map, Value, json};

use super::results;
use super::time;
use crate::clock::Moment;
use crate::fault::Name;
use crate::job::{End, Job, Phase};
use crate::question::Kind;

pub(super) fn operation(job: &Job, now: Moment) -> Value {
    let phase = job.phase(now);
    let name = format!("batches/{}", job.id);
    let kind = match job.order.kind {
        Kind::Chat => "GenerateContentBatch",
        Kind::Embedding => "EmbedContentBatch",
    };
    let kind = format!("type.googleapis.com/google.ai.generativelanguage.v1main.{kind}");
    let updated_at = job.timeline().ended_at.min(now);
    let mut metadata = json!({
        "@type": kind,
        "model": format!("models/{}", job.order.model),
        "displayName": job.order.label,
        "state": state(job, phase),
        "createTime": time(job.created_at),
        "updateTime": time(updated_at),
        "batchStats": stats(job, now),
        "name": name,
    });
    let mut operation = json!({"name": name});
    let (Some(metadata_fields), Some(fields)) =
        (metadata.as_object_mut(), operation.as_object_mut())
    else {
        return Value::Null;
    };
    if job.order.label.is_none() {
        metadata_fields.remove("displayName");
    }
    if let Phase::Ended(end) = phase {
        metadata_fields.insert("endTime".to_owned(), time(updated_at));
        fields.insert("done".to_owned(), json!(true));
        if end == End::Completed {
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

fn state(job: &Job, phase: Phase) -> &'static str {
    match phase {
        Phase::Validating => "BATCH_STATE_PENDING",
        // A job that gets stuck here is not even begun.
        Phase::Running if job.has(Name::Stuck) => "BATCH_STATE_PENDING",
        Phase::Running | Phase::Finalizing | Phase::Cancelling => "BATCH_STATE_RUNNING",
        Phase::Ended(End::Completed) => "BATCH_STATE_SUCCEEDED",
        Phase::Ended(End::Failed) => "BATCH_STATE_FAILED",
        Phase::Ended(End::Expired) => "BATCH_STATE_EXPIRED",
        Phase::Ended(End::Cancelled) => "BATCH_STATE_CANCELLED",
    }
}

fn stats(job: &Job, now: Moment) -> Value {
    let counts = job.counts(now);
    let pending = job.total() - counts.answered - counts.failed;
    let all = [
        ("requestCount", job.total()),
        ("successfulRequestCount", counts.answered),
        ("failedRequestCount", counts.failed),
        ("pendingRequestCount", pending),
    ];
    let told: Map<String, Value> = all
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (name.to_owned(), json!(count.to_string())))
        .collect();
    Value::Object(told)
}

/// Where the results are, or the results themselves.
fn output(job: &Job) -> Value {
    if job.order.input_file.is_some() && !job.has(Name::InlineAnswer) {
        return json!({"responsesFile": format!("files/{}", results::file_id(job))});
    }
    let field = match job.order.kind {
        Kind::Chat => "inlinedResponses",
        Kind::Embedding => "inlinedEmbedContentResponses",
    };
    json!({field: {"inlinedResponses": results::inlined(job)}})
}

fn error(job: &Job, end: End) -> Value {
    match end {
        End::Failed => {
            let message = job.objections.first().map(|it| it.message.clone());
            json!({"code": 3, "message": message.unwrap_or_default()})
        }
        End::Cancelled => json!({"code": 1, "message": "The operation was cancelled."}),
        End::Expired | End::Completed => {
            json!({"code": 4, "message": "The batch expired before it was processed."})
        }
    }
}
