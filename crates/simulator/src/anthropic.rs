//! Anthropic: message batches, files, and messages at once.

use http::HeaderValue;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{Answered, Call, nothing_here};
use crate::clock::Moment;
use crate::question::{Kind, Question};
use crate::realtime;
use crate::refusal::Refusal;
use crate::render;

mod batches;
mod create;
mod files;
mod results;

pub async fn route(call: Call) -> Answered {
    if call.header("anthropic-version").is_none() {
        return Err(Refusal::new(400, "anthropic-version: header is required").into());
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
        _ => Err(nothing_here(&call.path)),
    }
}

async fn messages(call: Call) -> Answered {
    let render = |question: &Question, answer: &Answer, fresh: &str| match answer {
        Answer::Chat(chat) => render::anthropic::message(chat, fresh, &question.model, "standard"),
        Answer::Vectors(_) | Answer::Failed(_) => json!({}),
    };
    realtime::respond(call, Kind::Chat, render).await
}

/// Moments with microseconds and an offset.
fn time(moment: Moment) -> Value {
    json!(moment.format("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string())
}

pub fn headers(request_id: &str) -> Vec<(&'static str, HeaderValue)> {
    let id = HeaderValue::from_str(&format!("req_{request_id}"));
    vec![("request-id", id.unwrap_or(HeaderValue::from_static("req_")))]
}
