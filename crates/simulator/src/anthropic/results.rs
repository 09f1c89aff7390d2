//! The results of a batch: one stream with every item, whatever became of it.

use http::{HeaderValue, header};
use serde_json::{Value, json};

use super::batches::KEPT;
use crate::answer::{Answer, answer};
use crate::call::{Answered, Call};
use crate::fault::Name;
use crate::job::{Job, Line, Outcome};
use crate::manifest::question;
use crate::provider::Provider;
use crate::question::Kind;
use crate::refusal::Refusal;
use crate::render;
use crate::reply;

pub(super) fn results(call: &Call, id: &str) -> Answered {
    let mut account = call.account.lock();
    account.refuse_if(Name::Download500, |_| {
        Refusal::new(500, "simulated failure")
    })?;
    account.refuse_if(Name::ResultsGone, |_| Refusal::not_found("results", id))?;
    let is_cut = account.faults.fire(Name::TruncateDownload).is_some();
    let job = account.job(id, call.now)?.clone();
    drop(account);
    if !job.is_ended(call.now) {
        let message = format!("Batch {id} has no results yet: it is still in progress");
        return Err(Refusal::not_found("results", &message).into());
    }
    if call.now >= job.created_at + KEPT {
        return Err(Refusal::not_found("results", id).into());
    }
    let lines = job.main_lines(|_| true);
    let mut response = reply::lines(lines, is_cut, move |line| render_line(&job, line));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/x-jsonl");
    headers.insert(header::CONTENT_TYPE, kind);
    let name = format!("attachment; filename=\"{id}_results.jsonl\"");
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

fn render_line(job: &Job, line: Line) -> Vec<u8> {
    let (custom_id, result) = match line {
        Line::Blank => return Vec::new(),
        Line::Unknown(number) => {
            let id = format!("unknown-{number}");
            let params = json!({
                "model": job.order.model,
                "max_tokens": 100,
                "messages": [{"role": "user", "content": id}],
            });
            let result = succeeded(job, &params, &id);
            (id, result)
        }
        Line::Item(index, outcome) => item(job, index, outcome),
    };
    json!({"custom_id": custom_id, "result": result})
        .to_string()
        .into_bytes()
}

fn item(job: &Job, index: usize, outcome: Outcome) -> (String, Value) {
    let raw = job.order.manifest.items.get(index);
    let raw = raw.map(|item| item.raw.clone()).unwrap_or_default();
    let request: Value = serde_json::from_slice(&raw).unwrap_or_default();
    let id = request.get("custom_id").and_then(Value::as_str);
    let params = request.get("params").cloned().unwrap_or_default();
    let word = index.to_string();
    let result = match outcome {
        Outcome::Answered => succeeded(job, &params, &word),
        Outcome::Failed(status) => {
            let question = question(Provider::Anthropic, Kind::Chat, Some(&params));
            let message = question.err();
            let message = message.unwrap_or_else(|| format!("simulated failure {status}"));
            let request_id = format!("req_{}", render::digits(&[&job.id, "request", &word], 24));
            let error = Refusal::new(status, message).body(Provider::Anthropic, &request_id);
            json!({"type": "errored", "error": error})
        }
        Outcome::Expired => json!({"type": "expired"}),
        Outcome::Cancelled => json!({"type": "canceled"}),
    };
    (id.unwrap_or_default().to_owned(), result)
}

fn succeeded(job: &Job, params: &Value, word: &str) -> Value {
    let id = render::digits(&[&job.id, "message", word], 24);
    let Ok(question) = question(Provider::Anthropic, Kind::Chat, Some(params)) else {
        return Value::Null;
    };
    let message = match answer(&question, job.habits()) {
        Answer::Chat(chat) => render::anthropic::message(&chat, &id, &question.model, "batch"),
        Answer::Vectors(_) | Answer::Failed(_) => Value::Null,
    };
    json!({"type": "succeeded", "message": message})
}
