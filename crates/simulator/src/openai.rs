//! `OpenAI`: files, batches and realtime calls.

use http::HeaderValue;
use serde_json::{Value, json};

use crate::answer::SimulatedAnswer;
use crate::call::{CallResult, SimulatedCall, no_such_path};
use crate::clock::SimulatorTime;
use crate::provider::SimulatedProvider;
use crate::realtime;
use crate::render;
use crate::render::openai::CompletionMetadata;
use crate::reply;
use crate::request::{ItemRequest, TaskKind};

mod batch_object;
mod batches;
mod files;
mod input_file;
mod output;

pub async fn route(call: SimulatedCall) -> CallResult {
    let path = call.path.clone();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let method = call.method.clone();
    match (method.as_str(), segments.as_slice()) {
        ("POST", ["v1", "files"]) => files::create(call).await,
        ("GET", ["v1", "files"]) => Ok(files::list(&call)),
        ("GET", ["v1", "files", id]) => files::show(call, id).await,
        ("GET", ["v1", "files", id, "content"]) => files::content(&call, id),
        ("DELETE", ["v1", "files", id]) => files::delete(&call, id),
        ("POST", ["v1", "batches"]) => batches::create(call).await,
        ("GET", ["v1", "batches"]) => batches::list(&call),
        ("GET", ["v1", "batches", id]) => batches::show(&call, id),
        ("POST", ["v1", "batches", id, "cancel"]) => batches::cancel(&call, id),
        _ => realtime_route(call, method.as_str(), &segments).await,
    }
}

/// The realtime calls of `OpenAI` and of compatible servers.
pub async fn realtime_route(call: SimulatedCall, method: &str, segments: &[&str]) -> CallResult {
    match (method, segments) {
        ("POST", ["v1", "chat", "completions"]) => completions(call, TaskKind::Chat).await,
        ("POST", ["v1", "responses"]) => completions(call, TaskKind::Responses).await,
        ("POST", ["v1", "embeddings"]) => completions(call, TaskKind::Embedding).await,
        ("GET", ["v1", "models"]) => Ok(reply::json(&models(call.now))),
        _ => Err(no_such_path(&call.path)),
    }
}

async fn completions(call: SimulatedCall, kind: TaskKind) -> CallResult {
    let created = call.now.timestamp();
    let is_vllm = call.provider == SimulatedProvider::Server;
    let request_id = call.header("x-request-id").map(str::to_owned);
    let render = |question: &ItemRequest, answer: &SimulatedAnswer, fresh: &str| {
        // vLLM uses the caller's request id.
        let id = request_id.as_deref().filter(|_| is_vllm).unwrap_or(fresh);
        let metadata = CompletionMetadata {
            id,
            model: &question.model,
            created,
            is_vllm,
        };
        match answer {
            SimulatedAnswer::Chat(chat) => match kind {
                TaskKind::Responses => render::responses::response(chat, metadata),
                TaskKind::Chat | TaskKind::Embedding => render::openai::chat(chat, metadata),
            },
            SimulatedAnswer::Embeddings(vectors) => render::openai::embeddings(vectors, metadata),
            SimulatedAnswer::Failed(_) => Value::Null,
        }
    };
    realtime::respond(call, kind, "", render).await
}

fn models(now: SimulatorTime) -> Value {
    let data: Vec<Value> = ["sim-chat", "sim-embedding"]
        .iter()
        .map(|id| json!({"id": id, "object": "model", "created": now.timestamp(), "owned_by": "simulator"}))
        .collect();
    json!({"object": "list", "data": data})
}

/// A page of a list, newest first.
fn page<T>(
    call: &SimulatedCall,
    all: Vec<T>,
    id: impl Fn(&T) -> &str,
    show: impl Fn(&T) -> Value,
) -> Value {
    let limit = call.number("limit").unwrap_or(20).clamp(1, 10_000);
    let after = call.query.get("after");
    let mut rest: Vec<T> = match after {
        Some(after) => all
            .into_iter()
            .skip_while(|it| id(it) != after.as_str())
            .skip(1)
            .collect(),
        None => all,
    };
    let has_more = rest.len() > limit;
    rest.truncate(limit);
    json!({
        "object": "list",
        "data": rest.iter().map(show).collect::<Vec<_>>(),
        "first_id": rest.first().map(&id),
        "last_id": rest.last().map(&id),
        "has_more": has_more,
    })
}

/// Headers of every response.
pub fn headers(request_id: &str) -> Vec<(&'static str, HeaderValue)> {
    let id = HeaderValue::from_str(&format!("req_{request_id}"));
    vec![
        (
            "x-request-id",
            id.unwrap_or(HeaderValue::from_static("req_")),
        ),
        ("openai-processing-ms", HeaderValue::from_static("1")),
        ("openai-version", HeaderValue::from_static("2020-10-01")),
    ]
}
