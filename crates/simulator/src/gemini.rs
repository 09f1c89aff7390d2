//! Gemini: batches as long-running operations, resumable uploads, and content at once.

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
mod operation;
mod results;
mod upload;

pub use upload::account_of as account_of_upload;

pub async fn route(call: Call) -> Answered {
    let path = call.path.clone();
    // Google's newer clients say `v1`, and mean the same calls.
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
            None => Err(nothing_here(&path)),
        },
        ("POST", ["v1beta", "models", last]) => {
            let (model, verb) = last.split_once(':').unwrap_or((last, ""));
            of_model(call, model, verb).await
        }
        _ => Err(nothing_here(&path)),
    }
}

async fn of_model(call: Call, model: &str, verb: &str) -> Answered {
    match verb {
        "batchGenerateContent" => create::create(call, model, Kind::Chat).await,
        "asyncBatchEmbedContent" => create::create(call, model, Kind::Embedding).await,
        "generateContent" => at_once(call, model, Kind::Chat).await,
        "embedContent" => at_once(call, model, Kind::Embedding).await,
        _ => Err(Refusal::new(404, format!("models/{model} has no method {verb}")).into()),
    }
}

async fn at_once(call: Call, model: &str, kind: Kind) -> Answered {
    let render = |_: &Question, answer: &Answer, fresh: &str| match answer {
        Answer::Chat(chat) => render::gemini::content(chat, fresh, model),
        Answer::Vectors(vectors) => render::gemini::embedding(vectors),
        Answer::Failed(_) => json!({}),
    };
    realtime::respond(call, kind, render).await
}

fn time(moment: Moment) -> Value {
    json!(moment.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string())
}
