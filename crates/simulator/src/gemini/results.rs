//! Results, inside the operation or as a file.

use serde_json::{Map, Value, json};

use crate::answer::{Answer, answer};
use crate::fault::Name;
use crate::job::{Job, Line, Outcome};
use crate::manifest::question;
use crate::provider::Provider;
use crate::question::Kind;
use crate::render;

/// Longer than what `files.get` takes, as the real ones are.
pub(super) fn file_id(job: &Job) -> String {
    format!("batch-{}", render::digits(&[&job.id, "responses"], 40))
}

pub(super) fn inlined(job: &Job) -> Vec<Value> {
    let lines = job.main_lines(|_| true);
    let shown = lines.into_iter().filter_map(|line| {
        let (key, metadata, mut fields) = told(job, line)?;
        if !job.has(Name::MetadataMissing) {
            // An inline answer to a file has no metadata but the key.
            let metadata = metadata.unwrap_or_else(|| json!({"key": key}));
            fields.insert("metadata".to_owned(), metadata);
        }
        Some(Value::Object(fields))
    });
    shown.collect()
}

pub(super) fn line(job: &Job, line: Line) -> Vec<u8> {
    let Some((key, _, fields)) = told(job, line) else {
        return Vec::new();
    };
    let mut all = Map::new();
    all.insert("key".to_owned(), json!(key));
    all.extend(fields);
    Value::Object(all).to_string().into_bytes()
}

/// The key, the metadata that came with it, and `response` or `error`.
fn told(job: &Job, line: Line) -> Option<(String, Option<Value>, Map<String, Value>)> {
    let mut fields = Map::new();
    match line {
        Line::Blank => None,
        Line::Unknown(number) => {
            let key = format!("unknown-{number}");
            let parts = json!({"parts": [{"text": key}]});
            let request = match job.order.kind {
                Kind::Chat => json!({"contents": [parts]}),
                Kind::Embedding => json!({"content": parts}),
            };
            fields.insert("response".to_owned(), response(job, &request, &key));
            Some((key, None, fields))
        }
        Line::Item(index, outcome) => {
            let raw = job.order.manifest.items.get(index)?.raw.clone();
            let item: Value = serde_json::from_slice(&raw).unwrap_or_default();
            let metadata = item.get("metadata").cloned();
            let key = item.get("key").or_else(|| metadata.as_ref()?.get("key"));
            let key = key.and_then(Value::as_str);
            let key = key.map_or_else(|| index.to_string(), str::to_owned);
            let request = item.get("request").cloned().unwrap_or_default();
            if outcome == Outcome::Answered {
                let response = response(job, &request, &index.to_string());
                fields.insert("response".to_owned(), response);
            } else {
                let name = if job.has(Name::StatusInsteadOfError) {
                    "status"
                } else {
                    "error"
                };
                fields.insert(name.to_owned(), error(job, &request, outcome));
            }
            Some((key, metadata, fields))
        }
    }
}

fn response(job: &Job, request: &Value, word: &str) -> Value {
    let id = render::digits(&[&job.id, "response", word], 22);
    let Ok(question) = question(Provider::Gemini, job.order.kind, Some(request)) else {
        return Value::Null;
    };
    match answer(&question, job.habits()) {
        Answer::Chat(chat) => render::gemini::content(&chat, &id, &job.order.model),
        Answer::Vectors(vectors) => render::gemini::embedding(&vectors),
        Answer::Failed(_) => Value::Null,
    }
}

fn error(job: &Job, request: &Value, outcome: Outcome) -> Value {
    let status = match outcome {
        Outcome::Failed(status) => status,
        Outcome::Answered | Outcome::Expired | Outcome::Cancelled => 499,
    };
    let question = question(Provider::Gemini, job.order.kind, Some(request));
    let message = question.err();
    let message = message.unwrap_or_else(|| format!("simulated failure {status}"));
    json!({"code": rpc_code(status), "message": message})
}

/// A status of HTTP as Google's own code.
const fn rpc_code(status: u16) -> u8 {
    match status {
        400 | 413 | 422 => 3,
        401 => 16,
        403 => 7,
        404 => 5,
        409 => 10,
        429 => 8,
        499 => 1,
        503 | 529 => 14,
        408 | 504 => 4,
        500.. => 13,
        _ => 2,
    }
}
