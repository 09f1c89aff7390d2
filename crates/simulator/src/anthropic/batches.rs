//! Batches: get, list, cancel and delete. Counts are zero until the end.

use http::{HeaderValue, header};
use serde_json::{Value, json};

use super::format_time;
use crate::call::{CallResult, SimulatedCall};
use crate::clock::SimulatorTime;
use crate::fault::FaultName;
use crate::job::{JobPhase, SimulatedJob};
use crate::refusal::SimulatedRefusal;
use crate::reply;

/// After the creation of the batch.
pub(super) const RESULT_RETENTION: chrono::TimeDelta = chrono::TimeDelta::days(29);

pub(super) fn batch_object(job: &SimulatedJob, now: SimulatorTime, origin: &str) -> Value {
    let is_ended = job.is_ended(now);
    let is_archived = now >= job.created_at + RESULT_RETENTION;
    let (status, counts) = if is_ended {
        ("ended", job.counts(now))
    } else if job.phase(now) == JobPhase::Cancelling {
        ("canceling", crate::job::JobCounts::default())
    } else {
        ("in_progress", crate::job::JobCounts::default())
    };
    let url = format!("{origin}/anthropic/v1/messages/batches/{}/results", job.id);
    json!({
        "id": job.id,
        "type": "message_batch",
        "processing_status": status,
        "request_counts": {
            "processing": if is_ended { 0 } else { job.total() },
            "succeeded": counts.answered,
            "errored": counts.failed,
            "canceled": counts.cancelled,
            "expired": counts.expired,
        },
        "ended_at": is_ended.then(|| format_time(job.timeline().ended_at)),
        "created_at": format_time(job.created_at),
        "expires_at": format_time(job.expires_at()),
        "archived_at": is_archived.then(|| format_time(job.created_at + RESULT_RETENTION)),
        "cancel_initiated_at": job.cancel_at.map(format_time),
        "results_url": (is_ended && !is_archived).then_some(url),
    })
}

pub(super) fn show(call: &SimulatedCall, id: &str) -> CallResult {
    let mut account = call.account.lock();
    let hint = account.faults.fire(FaultName::RetryAfter);
    let job = account.poll(id, call.now)?;
    let mut response = reply::json(&batch_object(job, call.now, &call.origin));
    if let Some(fault) = hint.filter(|_| !job.is_ended(call.now)) {
        let seconds = HeaderValue::from(fault.seconds.unwrap_or(10));
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    Ok(response)
}

pub(super) fn list(call: &SimulatedCall) -> CallResult {
    let limit = call.number("limit").unwrap_or(20);
    if !(1..=1000).contains(&limit) {
        return Err(SimulatedRefusal::new(400, "limit: must be from 1 to 1000").into());
    }
    let jobs = call.account.lock().list_jobs(call.now)?;
    let position = |name: &str| {
        let id = call.query.get(name)?;
        jobs.iter().position(|job| job.id == *id)
    };
    let (page, has_more) = match (position("after_id"), position("before_id")) {
        (None, Some(before)) => {
            let start = before.saturating_sub(limit);
            (jobs.get(start..before).unwrap_or_default(), start > 0)
        }
        (after, _) => {
            let start = after.map_or(0, |after| after + 1);
            let end = (start + limit).min(jobs.len());
            (jobs.get(start..end).unwrap_or_default(), end < jobs.len())
        }
    };
    let data: Vec<Value> = page
        .iter()
        .map(|job| batch_object(job, call.now, &call.origin))
        .collect();
    Ok(reply::json(&json!({
        "data": data,
        "has_more": has_more,
        "first_id": page.first().map(|job| &job.id),
        "last_id": page.last().map(|job| &job.id),
    })))
}

pub(super) fn cancel(call: &SimulatedCall, id: &str) -> CallResult {
    let mut account = call.account.lock();
    let job = account.job(id, call.now)?;
    match job.phase(call.now) {
        JobPhase::Ended(_) => {
            let message = format!("Batch {id} cannot be canceled because it has already ended");
            return Err(SimulatedRefusal::new(400, message).into());
        }
        JobPhase::Cancelling => {}
        JobPhase::Validating | JobPhase::Running | JobPhase::Finalizing => {
            job.cancel_at = Some(call.now);
        }
    }
    Ok(reply::json(&batch_object(job, call.now, &call.origin)))
}

pub(super) fn delete(call: &SimulatedCall, id: &str) -> CallResult {
    let mut account = call.account.lock();
    let job = account.job(id, call.now)?;
    if !job.is_ended(call.now) {
        let message = format!("Batch {id} cannot be deleted while it is in progress");
        return Err(SimulatedRefusal::new(400, message).into());
    }
    job.is_deleted = true;
    Ok(reply::json(
        &json!({"id": id, "type": "message_batch_deleted"}),
    ))
}
