//! The batch object. It has every field, and unset ones are null.

use serde_json::{Value, json};

use super::output::OutputFile;
use crate::clock::SimulatorTime;
use crate::fault::FaultName;
use crate::job::{JobEnd, JobPhase, SimulatedJob};

pub(super) fn batch_object(job: &SimulatedJob, now: SimulatorTime) -> Value {
    let timeline = job.timeline();
    let phase = job.phase(now);
    let counts = job.counts(now);
    let past = |moment: SimulatorTime| (moment <= now).then(|| moment.timestamp());
    let ended =
        |end: JobEnd| (phase == JobPhase::Ended(end)).then(|| timeline.ended_at.timestamp());
    let is_running =
        timeline.end != JobEnd::Failed && job.cancel_at.is_none_or(|at| at >= timeline.running_at);
    let (output, error) = OutputFile::file_ids(job, now);
    let is_validated = phase != JobPhase::Validating && phase != JobPhase::Ended(JobEnd::Failed);
    let total = if is_validated { job.total() } else { 0 };
    json!({
        "id": job.id,
        "object": "batch",
        "endpoint": job.request.endpoint,
        "model": Some(&job.request.model).filter(|model| is_validated && !model.is_empty()),
        "errors": errors(job, phase),
        "input_file_id": job.request.input_file,
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
        "completed_at": ended(JobEnd::Completed),
        "failed_at": ended(JobEnd::Failed),
        "expired_at": ended(JobEnd::Expired),
        "cancelling_at": job.cancel_at.and_then(past),
        "cancelled_at": ended(JobEnd::Cancelled),
        "request_counts": {
            "total": total,
            "completed": counts.answered,
            "failed": counts.failed,
        },
        "usage": usage(job, phase),
        "metadata": job.request.metadata,
    })
}

const fn status(phase: JobPhase) -> &'static str {
    match phase {
        JobPhase::Validating => "validating",
        JobPhase::Running => "in_progress",
        JobPhase::Finalizing => "finalizing",
        JobPhase::Cancelling => "cancelling",
        JobPhase::Ended(JobEnd::Completed) => "completed",
        JobPhase::Ended(JobEnd::Failed) => "failed",
        JobPhase::Ended(JobEnd::Expired) => "expired",
        JobPhase::Ended(JobEnd::Cancelled) => "cancelled",
    }
}

fn errors(job: &SimulatedJob, phase: JobPhase) -> Value {
    if phase != JobPhase::Ended(JobEnd::Failed) {
        return Value::Null;
    }
    let data: Vec<Value> = job
        .validation_errors
        .iter()
        .map(|it| {
            json!({"code": it.code, "line": it.line, "message": it.message, "param": it.param})
        })
        .collect();
    json!({"object": "list", "data": data})
}

/// Null until the job ended.
fn usage(job: &SimulatedJob, phase: JobPhase) -> Value {
    let is_over = matches!(phase, JobPhase::Ended(end) if end != JobEnd::Failed);
    if !is_over || job.has(FaultName::UsageMissing) {
        return Value::Null;
    }
    let done = if job.has(FaultName::AllFail) {
        0
    } else {
        job.timeline().done
    };
    let sum = job.request.manifest.usage(done);
    json!({
        "input_tokens": sum.input,
        "input_tokens_details": {"cached_tokens": sum.cached},
        "output_tokens": sum.output,
        "output_tokens_details": {"reasoning_tokens": sum.thinking},
        "total_tokens": sum.input + sum.output,
    })
}
