//! A realtime server such as vLLM: health, and the calls it shares with `OpenAI`.

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;

use crate::call::{Answered, Call};
use crate::fault::Name;
use crate::openai;

pub async fn route(call: Call) -> Answered {
    let path = call.path.clone();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let method = call.method.clone();
    match (method.as_str(), segments.as_slice()) {
        ("GET", ["health"]) => Ok(health(&call)),
        _ => openai::realtime_route(call, method.as_str(), &segments).await,
    }
}

/// Says nothing but its status, as vLLM does.
fn health(call: &Call) -> Response {
    let is_dead = call.account.lock().faults.seen(Name::Dead).is_some();
    let mut response = Response::new(Body::empty());
    if is_dead {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}
