//! Batches: get, list, cancel and delete.

use serde_json::{Value, json};

use super::operation::operation;
use crate::call::{CallResult, SimulatedCall};
use crate::job::JobPhase;
use crate::refusal::SimulatedRefusal;
use crate::reply;

pub(super) fn show(call: &SimulatedCall, id: &str) -> CallResult {
    let job = call.account.lock().poll(id, call.now)?.clone();
    Ok(reply::json(&operation(&job, call.now)))
}

pub(super) fn list(call: &SimulatedCall) -> CallResult {
    let jobs = call.account.lock().list_jobs(call.now)?;
    let size = call.number("pageSize").filter(|size| *size > 0);
    let size = size.unwrap_or(50).min(1000);
    let start = call.number("pageToken").unwrap_or(0);
    let page: Vec<Value> = jobs
        .iter()
        .skip(start)
        .take(size)
        .map(|job| operation(job, call.now))
        .collect();
    let mut answer = json!({"operations": page});
    if let Some(answer) = answer.as_object_mut() {
        if jobs.len() > start + size {
            let token = (start + size).to_string();
            answer.insert("nextPageToken".to_owned(), json!(token));
        }
        if jobs.is_empty() {
            answer.clear();
        }
    }
    Ok(reply::json(&answer))
}

pub(super) fn cancel(call: &SimulatedCall, id: &str) -> CallResult {
    let mut account = call.account.lock();
    let job = account.job(id, call.now)?;
    match job.phase(call.now) {
        JobPhase::Ended(_) => {
            let refusal = SimulatedRefusal::new(400, "The batch has already ended.");
            return Err(refusal.code("FAILED_PRECONDITION").into());
        }
        JobPhase::Cancelling => {}
        JobPhase::Validating | JobPhase::Running | JobPhase::Finalizing => {
            job.cancel_at = Some(call.now);
        }
    }
    Ok(reply::json(&json!({})))
}

pub(super) fn delete(call: &SimulatedCall, id: &str) -> CallResult {
    let mut account = call.account.lock();
    account.job(id, call.now)?.is_deleted = true;
    Ok(reply::json(&json!({})))
}
