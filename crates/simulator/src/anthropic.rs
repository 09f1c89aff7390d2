//! Anthropic: message batches, files and realtime messages.

use http::HeaderValue;
use serde_json::{Value, json};

use crate::answer::SimulatedAnswer;
use crate::call::{CallResult, SimulatedCall, no_such_path};
use crate::clock::SimulatorTime;
use crate::provider::SimulatedProvider;
use crate::realtime;
use crate::refusal::SimulatedRefusal;
use crate::render;
use crate::request::{ItemRequest, RequestFormat, TaskKind};

mod batches;
mod create;
mod files;
mod results;

/// A request's `params`, which name the model.
const FORMAT: RequestFormat<'static> = RequestFormat {
    provider: SimulatedProvider::Anthropic,
    kind: TaskKind::Chat,
    model: "",
};

pub async fn route(call: SimulatedCall) -> CallResult {
    if call.header("anthropic-version").is_none() {
        return Err(SimulatedRefusal::new(400, "anthropic-version: header is required").into());
    }
    let path = call.path.clone();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let method = call.method.clone();
    match (method.as_str(), segments.as_slice()) {
        ("POST", ["v1", "messages", "batches"]) => create::create(call).await,
        ("GET", ["v1", "messages", "batches"]) => batches::list(&call),
        ("GET", ["v1", "messages", "batches", id]) => batches::show(&call, id),
        ("DELETE", ["v1", "messages", "batches", id]) => batches::delete(&call, id),
        ("POST", ["v1", "messages", "batches", id, "cancel"]) => batches::cancel(&call, id),
        ("GET", ["v1", "messages", "batches", id, "results"]) => results::results(&call, id),
        ("POST", ["v1", "files"]) => files::create(call).await,
        ("POST", ["v1", "messages"]) => messages(call).await,
        _ => Err(no_such_path(&call.path)),
    }
}

async fn messages(call: SimulatedCall) -> CallResult {
    let render = |question: &ItemRequest, answer: &SimulatedAnswer, fresh: &str| match answer {
        SimulatedAnswer::Chat(chat) => {
            render::anthropic::message(chat, fresh, &question.model, "standard")
        }
        SimulatedAnswer::Embeddings(_) | SimulatedAnswer::Failed(_) => json!({}),
    };
    realtime::respond(call, TaskKind::Chat, "", render).await
}

/// With microseconds and an offset.
fn format_time(moment: SimulatorTime) -> Value {
    json!(moment.format("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string())
}

pub fn headers(request_id: &str) -> Vec<(&'static str, HeaderValue)> {
    let id = HeaderValue::from_str(&format!("req_{request_id}"));
    vec![("request-id", id.unwrap_or(HeaderValue::from_static("req_")))]
}
