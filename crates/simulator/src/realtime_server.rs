//! A realtime server such as vLLM: a health check and `OpenAI`-compatible calls.

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;

use crate::call::{CallResult, SimulatedCall};
use crate::fault::FaultName;
use crate::openai;

pub async fn route(call: SimulatedCall) -> CallResult {
    let path = call.path.clone();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let method = call.method.clone();
    match (method.as_str(), segments.as_slice()) {
        ("GET", ["health"]) => Ok(health(&call)),
        _ => openai::realtime_route(call, method.as_str(), &segments).await,
    }
}

/// Answers with a status and an empty body, as vLLM does.
fn health(call: &SimulatedCall) -> Response {
    let is_dead = call.account.lock().faults.get(FaultName::Dead).is_some();
    let mut response = Response::new(Body::empty());
    if is_dead {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}
