//! Results, inline in the operation or as a file.

use serde_json::{Map, Value, json};

use crate::answer::{SimulatedAnswer, answer_request};
use crate::cache::CacheCounts;
use crate::fault::FaultName;
use crate::job::{ResultLine, SimulatedJob, SimulatedOutcome};
use crate::manifest::parse_request;
use crate::provider::SimulatedProvider;
use crate::render;
use crate::request::{RequestFormat, TaskKind};

/// Longer than `files.get` accepts, as at Google.
pub(super) fn file_id(job: &SimulatedJob) -> String {
    format!("batch-{}", render::hex_digits(&[&job.id, "responses"], 40))
}

pub(super) fn inlined(job: &SimulatedJob) -> Vec<Value> {
    let lines = job.main_lines(|_| true);
    let shown = lines.into_iter().filter_map(|line| {
        let (key, metadata, mut fields) = result_fields(job, line)?;
        if !job.has(FaultName::MetadataMissing) {
            // Items of a file have no metadata; an inline answer contains their key.
            let metadata = metadata.unwrap_or_else(|| json!({"key": key}));
            fields.insert("metadata".to_owned(), metadata);
        }
        Some(Value::Object(fields))
    });
    shown.collect()
}

pub(super) fn render_line(job: &SimulatedJob, line: ResultLine) -> Vec<u8> {
    let Some((key, _, fields)) = result_fields(job, line) else {
        return Vec::new();
    };
    let mut all = Map::new();
    all.insert("key".to_owned(), json!(key));
    all.extend(fields);
    Value::Object(all).to_string().into_bytes()
}

/// The key, its metadata, and `response` or `error`.
fn result_fields(
    job: &SimulatedJob,
    line: ResultLine,
) -> Option<(String, Option<Value>, Map<String, Value>)> {
    let mut fields = Map::new();
    match line {
        ResultLine::Blank => None,
        ResultLine::Unknown(number) => {
            let key = format!("unknown-{number}");
            let parts = json!({"parts": [{"text": key}]});
            let request = match job.request.kind {
                TaskKind::Chat | TaskKind::Responses => json!({"contents": [parts]}),
                TaskKind::Embedding => json!({"content": parts}),
            };
            let cache = CacheCounts::default();
            let response = response(job, &request, &key, cache);
            fields.insert("response".to_owned(), response);
            Some((key, None, fields))
        }
        ResultLine::Item(index, outcome) => {
            let raw = job.request.manifest.items.get(index)?.raw.clone();
            let item: Value = serde_json::from_slice(&raw).unwrap_or_default();
            let metadata = item.get("metadata").cloned();
            let key = item.get("key").or_else(|| metadata.as_ref()?.get("key"));
            let key = key.and_then(Value::as_str);
            let key = key.map_or_else(|| index.to_string(), str::to_owned);
            let request = item.get("request").cloned().unwrap_or_default();
            if outcome == SimulatedOutcome::Answered {
                let cache = job.cache_counts(index);
                let response = response(job, &request, &index.to_string(), cache);
                fields.insert("response".to_owned(), response);
            } else {
                let name = if job.has(FaultName::StatusInsteadOfError) {
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

fn format(job: &SimulatedJob) -> RequestFormat<'_> {
    RequestFormat {
        provider: SimulatedProvider::Gemini,
        kind: job.request.kind,
        model: &job.request.model,
    }
}

fn response(job: &SimulatedJob, request: &Value, word: &str, cache: CacheCounts) -> Value {
    let id = render::hex_digits(&[&job.id, "response", word], 22);
    let Ok(question) = parse_request(format(job), Some(request)) else {
        return Value::Null;
    };
    match answer_request(&question, job.answer_faults(), cache) {
        SimulatedAnswer::Chat(chat) => render::gemini::content(&chat, &id, &job.request.model),
        SimulatedAnswer::Embeddings(vectors) => render::gemini::embedding(&vectors),
        SimulatedAnswer::Failed(_) => Value::Null,
    }
}

fn error(job: &SimulatedJob, request: &Value, outcome: SimulatedOutcome) -> Value {
    let status = match outcome {
        SimulatedOutcome::Failed(status) => status,
        SimulatedOutcome::Answered | SimulatedOutcome::Expired | SimulatedOutcome::Cancelled => 499,
    };
    let invalid = parse_request(format(job), Some(request)).err();
    let message = invalid.map(|it| it.message);
    let message = message.unwrap_or_else(|| format!("simulated failure {status}"));
    json!({"code": rpc_code(status), "message": message})
}

/// The gRPC code of an HTTP status.
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
