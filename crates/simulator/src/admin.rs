//! The same administration as in the process, over HTTP under `/admin`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::response::Response;
use http::{Request, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::control::Control;
use crate::fault::Fault;
use crate::pace::Pace;
use crate::provider::Provider;
use crate::reply;
use crate::world::World;

const LARGEST: usize = 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    advance_ms: u64,
}

pub async fn route(world: &Arc<World>, path: &str, request: Request<Body>) -> Response {
    let control = Control::of(world);
    let method = request.method().as_str().to_owned();
    let body = to_bytes(request.into_body(), LARGEST).await;
    let body = body.unwrap_or_default();
    match answer(&control, &method, path, &body) {
        Ok(answer) => reply::json(&answer),
        Err((status, why)) => {
            let mut response = reply::json(&json!({"error": why}));
            *response.status_mut() = status;
            response
        }
    }
}

type Judged = Result<Value, (StatusCode, String)>;

fn answer(control: &Control, method: &str, path: &str, body: &[u8]) -> Judged {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (method, segments.as_slice()) {
        ("GET", ["clock"]) => Ok(json!({"now": control.now()})),
        ("PUT", ["clock"]) => {
            let asked: Advance = read(body)?;
            let now = control.advance(Duration::from_millis(asked.advance_ms));
            Ok(json!({"now": now}))
        }
        ("DELETE", [provider, account]) => {
            control.forget(named(provider)?, &decoded(account));
            Ok(json!({}))
        }
        (_, [provider, account, what]) => {
            let provider = named(provider)?;
            of_account(control, method, (provider, &decoded(account)), what, body)
        }
        _ => Err((StatusCode::NOT_FOUND, format!("nothing at {path}"))),
    }
}

fn named(provider: &str) -> Result<Provider, (StatusCode, String)> {
    let unknown = || (StatusCode::NOT_FOUND, format!("no provider {provider}"));
    Provider::named(provider).ok_or_else(unknown)
}

fn of_account(
    control: &Control,
    method: &str,
    (provider, account): (Provider, &str),
    what: &str,
    body: &[u8],
) -> Judged {
    match (method, what) {
        ("PUT", "faults") => control.set_faults(provider, account, read::<Vec<Fault>>(body)?),
        ("POST", "faults") => control.add_faults(provider, account, read::<Vec<Fault>>(body)?),
        ("DELETE", "faults") => control.clear_faults(provider, account),
        ("PUT", "pace") => control.set_pace(provider, account, read::<Pace>(body)?),
        ("GET", "faults" | "pace") => {}
        ("GET", "submissions") => return Ok(json!(control.submissions(provider, account))),
        ("GET", "jobs") => return Ok(json!(control.jobs(provider, account))),
        ("GET", "calls") => return Ok(json!(control.calls(provider, account))),
        _ => return Err((StatusCode::NOT_FOUND, format!("no {method} of {what}"))),
    }
    Ok(match what {
        "pace" => json!(control.pace(provider, account)),
        _ => json!(control.faults(provider, account)),
    })
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, (StatusCode, String)> {
    serde_json::from_slice(body).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))
}

/// A credential as it was before it was put into a URL.
fn decoded(segment: &str) -> String {
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
