//! The batch object: every field is there, null when it is not set.

use serde_json::{Value, json};

use super::output::Output;
use crate::clock::Moment;
use crate::fault::Name;
use crate::job::{End, Job, Phase};

pub(super) fn object(job: &Job, now: Moment) -> Value {
    let timeline = job.timeline();
    let phase = job.phase(now);
    let counts = job.counts(now);
    let past = |moment: Moment| (moment <= now).then(|| moment.timestamp());
    let ended = |end: End| (phase == Phase::Ended(end)).then(|| timeline.ended_at.timestamp());
    let is_running =
        timeline.end != End::Failed && job.cancel_at.is_none_or(|at| at >= timeline.running_at);
    let (output, error) = Output::ids(job, now);
    let is_validated = phase != Phase::Validating && phase != Phase::Ended(End::Failed);
    let total = if is_validated { job.total() } else { 0 };
    json!({
        "id": job.id,
        "object": "batch",
        "endpoint": job.order.endpoint,
        "model": Some(&job.order.model).filter(|model| is_validated && !model.is_empty()),
        "errors": errors(job, phase),
        "input_file_id": job.order.input_file,
        "completion_window": "24h",
        "status": status(phase),
        "output_file_id": output,
        "error_file_id": error,
        "created_at": job.created_at.timestamp(),
        "in_progress_at": past(timeline.running_at).filter(|_| is_running),
        "expires_at": job.expires_at().timestamp(),
        "finalizing_at": timeline.finalizing_at
            .filter(|at| job.cancel_at.is_none_or(|cancel_at| *at <= cancel_at))
            .and_then(past),
        "completed_at": ended(End::Completed),
        "failed_at": ended(End::Failed),
        "expired_at": ended(End::Expired),
        "cancelling_at": job.cancel_at.and_then(past),
        "cancelled_at": ended(End::Cancelled),
        "request_counts": {
            "total": total,
            "completed": counts.answered,
            "failed": counts.failed,
        },
        "usage": usage(job, phase),
        "metadata": job.order.metadata,
    })
}

const fn status(phase: Phase) -> &'static str {
    match phase {
        Phase::Validating => "validating",
        Phase::Running => "in_progress",
        Phase::Finalizing => "finalizing",
        Phase::Cancelling => "cancelling",
        Phase::Ended(End::Completed) => "completed",
        Phase::Ended(End::Failed) => "failed",
        Phase::Ended(End::Expired) => "expired",
        Phase::Ended(End::Cancelled) => "cancelled",
    }
}

fn errors(job: &Job, phase: Phase) -> Value {
    if phase != Phase::Ended(End::Failed) {
        return Value::Null;
    }
    let data: Vec<Value> = job
        .objections
        .iter()
        .map(|it| {
            json!({"code": it.code, "line": it.line, "message": it.message, "param": it.param})
        })
        .collect();
    json!({"object": "list", "data": data})
}

/// Told once the job is over.
fn usage(job: &Job, phase: Phase) -> Value {
    let is_over = matches!(phase, Phase::Ended(end) if end != End::Failed);
    if !is_over || job.has(Name::UsageMissing) {
        return Value::Null;
    }
    let done = if job.has(Name::AllFail) {
        0
    } else {
        job.timeline().done
    };
    let sum = job.order.manifest.usage(done);
    json!({
        "input_tokens": sum.input,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": sum.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sum.input + sum.output,
    })
}
