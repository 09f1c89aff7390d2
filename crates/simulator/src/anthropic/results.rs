//! The results of a batch: one stream with every item, including errors.

use http::{HeaderValue, header};
use serde_json::{Value, json};

use super::FORMAT;
use super::batches::RESULT_RETENTION;
use crate::answer::{SimulatedAnswer, answer_request};
use crate::cache::CacheCounts;
use crate::call::{CallResult, SimulatedCall};
use crate::fault::FaultName;
use crate::invalid_request::InvalidRequest;
use crate::job::{ResultLine, SimulatedJob, SimulatedOutcome};
use crate::manifest::parse_request;
use crate::provider::SimulatedProvider;
use crate::refusal::SimulatedRefusal;
use crate::render;
use crate::reply;

pub(super) fn results(call: &SimulatedCall, id: &str) -> CallResult {
    let mut account = call.account.lock();
    account.refuse_if(FaultName::Download500, |_| {
        SimulatedRefusal::new(500, "simulated failure")
    })?;
    account.refuse_if(FaultName::ResultsGone, |_| {
        SimulatedRefusal::not_found("results", id)
    })?;
    let is_cut = account.faults.fire(FaultName::TruncateDownload).is_some();
    let job = account.job(id, call.now)?.clone();
    drop(account);
    if !job.is_ended(call.now) {
        let message = format!("Batch {id} has no results yet: it is still in progress");
        return Err(SimulatedRefusal::not_found("results", &message).into());
    }
    if call.now >= job.created_at + RESULT_RETENTION {
        return Err(SimulatedRefusal::not_found("results", id).into());
    }
    let lines = job.main_lines(|_| true);
    let mut response = reply::stream_lines(lines, is_cut, move |line| render_line(&job, line));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/x-jsonl");
    headers.insert(header::CONTENT_TYPE, kind);
    let name = format!("attachment; filename=\"{id}_results.jsonl\"");
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

fn render_line(job: &SimulatedJob, line: ResultLine) -> Vec<u8> {
    let (custom_id, result) = match line {
        ResultLine::Blank => return Vec::new(),
        ResultLine::Unknown(number) => {
            let id = format!("unknown-{number}");
            let params = json!({
                "model": job.request.model,
                "max_tokens": 100,
                "messages": [{"role": "user", "content": id}],
            });
            let result = succeeded(job, &params, &id, CacheCounts::default());
            (id, result)
        }
        ResultLine::Item(index, outcome) => item(job, index, outcome),
    };
    json!({"custom_id": custom_id, "result": result})
        .to_string()
        .into_bytes()
}

fn item(job: &SimulatedJob, index: usize, outcome: SimulatedOutcome) -> (String, Value) {
    let raw = job.request.manifest.items.get(index);
    let raw = raw.map(|item| item.raw.clone()).unwrap_or_default();
    let request: Value = serde_json::from_slice(&raw).unwrap_or_default();
    let id = request.get("custom_id").and_then(Value::as_str);
    let params = request.get("params").cloned().unwrap_or_default();
    let word = index.to_string();
    let result = match outcome {
        SimulatedOutcome::Answered => succeeded(job, &params, &word, job.cache_counts(index)),
        SimulatedOutcome::Failed(status) => {
            let invalid = parse_request(FORMAT, Some(&params)).err();
            let invalid = invalid
                .unwrap_or_else(|| InvalidRequest::new(format!("simulated failure {status}")));
            let request_id = format!(
                "req_{}",
                render::hex_digits(&[&job.id, "request", &word], 24)
            );
            let error = invalid
                .refusal(status)
                .body(SimulatedProvider::Anthropic, &request_id);
            json!({"type": "errored", "error": error})
        }
        SimulatedOutcome::Expired => json!({"type": "expired"}),
        SimulatedOutcome::Cancelled => json!({"type": "canceled"}),
    };
    (id.unwrap_or_default().to_owned(), result)
}

fn succeeded(job: &SimulatedJob, params: &Value, word: &str, cache: CacheCounts) -> Value {
    let id = render::hex_digits(&[&job.id, "message", word], 24);
    let Ok(question) = parse_request(FORMAT, Some(params)) else {
        return Value::Null;
    };
    let message = match answer_request(&question, job.answer_faults(), cache) {
        SimulatedAnswer::Chat(chat) => {
            render::anthropic::message(&chat, &id, &question.model, "batch")
        }
        SimulatedAnswer::Embeddings(_) | SimulatedAnswer::Failed(_) => Value::Null,
    };
    json!({"type": "succeeded", "message": message})
}
