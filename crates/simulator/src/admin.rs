//! The admin API: [`SimulatorControl`] over HTTP under `/admin`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::response::Response;
use http::{Request, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::control::SimulatorControl;
use crate::fault::SimulatedFault;
use crate::pace::SimulatedPace;
use crate::provider::SimulatedProvider;
use crate::reply;
use crate::state::SimulatorState;

const MAX_BODY_BYTES: usize = 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AdvanceRequest {
    advance_ms: u64,
}

pub async fn route(world: &Arc<SimulatorState>, path: &str, request: Request<Body>) -> Response {
    let control = SimulatorControl::new(world);
    let method = request.method().as_str().to_owned();
    let body = to_bytes(request.into_body(), MAX_BODY_BYTES).await;
    let body = body.unwrap_or_default();
    match handle(&control, &method, path, &body) {
        Ok(answer) => reply::json(&answer),
        Err((status, why)) => {
            let mut response = reply::json(&json!({"error": why}));
            *response.status_mut() = status;
            response
        }
    }
}

type AdminResult = Result<Value, (StatusCode, String)>;

fn handle(control: &SimulatorControl, method: &str, path: &str, body: &[u8]) -> AdminResult {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (method, segments.as_slice()) {
        ("GET", ["clock"]) => Ok(json!({"now": control.now()})),
        ("PUT", ["clock"]) => {
            let request: AdvanceRequest = parse_body(body)?;
            let now = control.advance(Duration::from_millis(request.advance_ms));
            Ok(json!({"now": now}))
        }
        ("DELETE", [provider, account]) => {
            control.forget(parse_provider(provider)?, &percent_decode(account));
            Ok(json!({}))
        }
        (_, [provider, account, what]) => {
            let provider = parse_provider(provider)?;
            handle_account(
                control,
                method,
                provider,
                &percent_decode(account),
                what,
                body,
            )
        }
        _ => Err((StatusCode::NOT_FOUND, format!("no such path: {path}"))),
    }
}

fn parse_provider(provider: &str) -> Result<SimulatedProvider, (StatusCode, String)> {
    let unknown = || {
        (
            StatusCode::NOT_FOUND,
            format!("no such provider: {provider}"),
        )
    };
    SimulatedProvider::from_name(provider).ok_or_else(unknown)
}

fn handle_account(
    control: &SimulatorControl,
    method: &str,
    provider: SimulatedProvider,
    account: &str,
    what: &str,
    body: &[u8],
) -> AdminResult {
    match (method, what) {
        ("PUT", "faults") => {
            control.set_faults(provider, account, parse_body::<Vec<SimulatedFault>>(body)?);
        }
        ("POST", "faults") => {
            control.add_faults(provider, account, parse_body::<Vec<SimulatedFault>>(body)?);
        }
        ("DELETE", "faults") => control.clear_faults(provider, account),
        ("PUT", "pace") => control.set_pace(provider, account, parse_body::<SimulatedPace>(body)?),
        ("GET", "faults" | "pace") => {}
        ("GET", "submissions") => return Ok(json!(control.submissions(provider, account))),
        ("GET", "jobs") => return Ok(json!(control.jobs(provider, account))),
        ("GET", "bill") => return Ok(json!(control.bill(provider, account))),
        ("GET", "calls") => return Ok(json!(control.calls(provider, account))),
        _ => {
            return Err((
                StatusCode::NOT_FOUND,
                format!("no such route: {method} {what}"),
            ));
        }
    }
    Ok(match what {
        "pace" => json!(control.pace(provider, account)),
        _ => json!(control.faults(provider, account)),
    })
}

fn parse_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, (StatusCode, String)> {
    serde_json::from_slice(body).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))
}

/// Decodes a credential from a URL.
fn percent_decode(segment: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = segment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let digits = (*first == b'%').then(|| after.get(..2)).flatten();
        match digits.and_then(|digits| hex::decode(digits).ok()) {
            Some(decoded) => {
                bytes.extend(decoded);
                rest = after.get(2..).unwrap_or_default();
            }
            None => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
