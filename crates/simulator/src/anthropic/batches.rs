//! The batch object, and calls that ask for it or end it. Counts are told only at the end.

use http::{HeaderValue, header};
use serde_json::{Value, json};

use super::time;
use crate::call::{Answered, Call};
use crate::clock::Moment;
use crate::fault::Name;
use crate::job::{Job, Phase};
use crate::refusal::Refusal;
use crate::reply;

/// Results are kept so long after the creation.
pub(super) const KEPT: chrono::TimeDelta = chrono::TimeDelta::days(29);

pub(super) fn object(job: &Job, now: Moment, origin: &str) -> Value {
    let is_ended = job.is_ended(now);
    let is_archived = now >= job.created_at + KEPT;
    let (status, counts) = if is_ended {
        ("ended", job.counts(now))
    } else if job.phase(now) == Phase::Cancelling {
        ("canceling", crate::job::Counts::default())
    } else {
        ("in_progress", crate::job::Counts::default())
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
        "ended_at": is_ended.then(|| time(job.timeline().ended_at)),
        "created_at": time(job.created_at),
        "expires_at": time(job.expires_at()),
        "archived_at": is_archived.then(|| time(job.created_at + KEPT)),
        "cancel_initiated_at": job.cancel_at.map(time),
        "results_url": (is_ended && !is_archived).then_some(url),
    })
}

pub(super) fn show(call: &Call, id: &str) -> Answered {
    let mut account = call.account.lock();
    let hint = account.faults.fire(Name::RetryAfter);
    let job = account.poll(id, call.now)?;
    let mut response = reply::json(&object(job, call.now, &call.origin));
    if let Some(fault) = hint.filter(|_| !job.is_ended(call.now)) {
        let seconds = HeaderValue::from(fault.seconds.unwrap_or(10));
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    Ok(response)
}

pub(super) fn list(call: &Call) -> Answered {
    let limit = call.number("limit").unwrap_or(20);
    if !(1..=1000).contains(&limit) {
        return Err(Refusal::new(400, "limit: must be from 1 to 1000").into());
    }
    let jobs = call.account.lock().listed(call.now)?;
    let place = |name: &str| {
        let id = call.query.get(name)?;
        jobs.iter().position(|job| job.id == *id)
    };
    let (page, has_more) = match (place("after_id"), place("before_id")) {
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
        .map(|job| object(job, call.now, &call.origin))
        .collect();
    Ok(reply::json(&json!({
        "data": data,
        "has_more": has_more,
        "first_id": page.first().map(|job| &job.id),
        "last_id": page.last().map(|job| &job.id),
    })))
}

pub(super) fn cancel(call: &Call, id: &str) -> Answered {
    let mut account = call.account.lock();
    let job = account.job(id, call.now)?;
    match job.phase(call.now) {
        Phase::Ended(_) => {
            let message = format!("Batch {id} cannot be canceled because it has already ended");
            return Err(Refusal::new(400, message).into());
        }
        Phase::Cancelling => {}
        Phase::Validating | Phase::Running | Phase::Finalizing => job.cancel_at = Some(call.now),
    }
    Ok(reply::json(&object(job, call.now, &call.origin)))
}

pub(super) fn delete(call: &Call, id: &str) -> Answered {
    let mut account = call.account.lock();
    let job = account.job(id, call.now)?;
    if !job.is_ended(call.now) {
        let message = format!("Batch {id} cannot be deleted while it is in progress");
        return Err(Refusal::new(400, message).into());
    }
    job.is_deleted = true;
    Ok(reply::json(
        &json!({"id": id, "type": "message_batch_deleted"}),
    ))
}
