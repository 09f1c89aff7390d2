//! Gemini: batches as long-running operations, resumable uploads and realtime content.

use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::answer::SimulatedAnswer;
use crate::bill::SimulatedTier;
use crate::call::{CallResult, SimulatedCall, no_such_path};
use crate::clock::SimulatorTime;
use crate::realtime;
use crate::refusal::SimulatedRefusal;
use crate::render;
use crate::request::{ItemRequest, TaskKind};

mod batches;
mod create;
mod files;
mod operation;
mod results;
mod upload;

pub use upload::upload_account as account_of_upload;

/// The tier that served a realtime call.
const TIER_HEADER: HeaderName = HeaderName::from_static("x-gemini-service-tier");

pub async fn route(call: SimulatedCall) -> CallResult {
    let path = call.path.clone();
    // Google's newer clients use `v1` for the same calls.
    let segments = path.trim_matches('/').split('/');
    let segments = segments.map(|it| if it == "v1" { "v1beta" } else { it });
    let segments: Vec<&str> = segments.collect();
    let method = call.method.clone();
    match (method.as_str(), segments.as_slice()) {
        ("POST", ["upload", "v1beta", "files"]) => upload::route(call).await,
        ("GET", ["download", "v1beta", "files", last] | ["v1beta", "files", last])
            if last.ends_with(":download") =>
        {
            files::download(&call, last.trim_end_matches(":download"))
        }
        ("GET", ["v1beta", "files"]) => Ok(files::list(&call)),
        ("GET", ["v1beta", "files", id]) => files::show(&call, id),
        ("DELETE", ["v1beta", "files", id]) => files::delete(&call, id),
        ("GET", ["v1beta", "batches"]) => batches::list(&call),
        ("GET", ["v1beta", "batches", id]) => batches::show(&call, id),
        ("DELETE", ["v1beta", "batches", id]) => batches::delete(&call, id),
        ("POST", ["v1beta", "batches", last]) => match last.strip_suffix(":cancel") {
            Some(id) => batches::cancel(&call, id),
            None => Err(no_such_path(&path)),
        },
        ("POST", ["v1beta", "models", last]) => {
            let (model, verb) = last.split_once(':').unwrap_or((last, ""));
            model_route(call, model, verb).await
        }
        _ => Err(no_such_path(&path)),
    }
}

async fn model_route(call: SimulatedCall, model: &str, verb: &str) -> CallResult {
    match verb {
        "batchGenerateContent" => create::create(call, model, TaskKind::Chat).await,
        "asyncBatchEmbedContent" => create::create(call, model, TaskKind::Embedding).await,
        "generateContent" => answer_realtime(call, model, TaskKind::Chat).await,
        "embedContent" => answer_realtime(call, model, TaskKind::Embedding).await,
        _ => Err(SimulatedRefusal::new(404, format!("models/{model} has no method {verb}")).into()),
    }
}

async fn answer_realtime(call: SimulatedCall, model: &str, kind: TaskKind) -> CallResult {
    let render = |_: &ItemRequest, answer: &SimulatedAnswer, fresh: &str| match answer {
        SimulatedAnswer::Chat(chat) => render::gemini::content(chat, fresh, model),
        SimulatedAnswer::Embeddings(vectors) => render::gemini::embedding(vectors),
        SimulatedAnswer::Failed(_) => json!({}),
    };
    let mut response = realtime::respond(call, kind, model, render).await?;
    if let Some(tier) = response.extensions().get::<SimulatedTier>().copied() {
        let name = HeaderValue::from_static(render::gemini::tier_name(tier));
        response.headers_mut().insert(TIER_HEADER, name);
    }
    Ok(response)
}

fn format_time(moment: SimulatorTime) -> Value {
    json!(moment.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string())
}
