//! Routes a request to its provider and account.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Query;
use axum::response::Response;
use chrono::TimeDelta;
use http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use parking_lot::Mutex;

use crate::account::CallQuota;
use crate::admin;
use crate::anthropic;
use crate::call::{CallResult, SimulatedCall};
use crate::clock::SimulatorTime;
use crate::fault::FaultName;
use crate::gemini;
use crate::openai;
use crate::provider::{SimulatedApi, SimulatedDialect, SimulatedProvider};
use crate::realtime_server;
use crate::refusal::{CallRejection, SimulatedRefusal};
use crate::state::SimulatorState;

/// The account of calls without a credential, where none is required.
const ANONYMOUS_ACCOUNT: &str = "anonymous";

/// None: a fault closes the connection without an answer.
pub async fn route_request(world: Arc<SimulatorState>, request: Request<Body>) -> Option<Response> {
    let path = request.uri().path().to_owned();
    let rest = path.trim_start_matches('/');
    let (first, rest) = rest.split_once('/').unwrap_or((rest, ""));
    if first == "admin" {
        return Some(admin::route(&world, rest, request).await);
    }
    let Some(api) = SimulatedApi::from_prefix(first) else {
        let refusal = SimulatedRefusal::new(
            404,
            "unknown path: use /openai, /azure, /groq, /anthropic, /gemini, /server or /admin",
        );
        return Some(refusal.into_response(SimulatedProvider::OpenAi, ""));
    };
    // Azure and Groq have their API below this path.
    let rest = match api.dialect {
        SimulatedDialect::OpenAi => rest,
        SimulatedDialect::Azure | SimulatedDialect::Groq => {
            rest.strip_prefix("openai/").unwrap_or(rest)
        }
    };
    call_provider(world, api, rest, request).await
}

async fn call_provider(
    world: Arc<SimulatorState>,
    api: SimulatedApi,
    path: &str,
    request: Request<Body>,
) -> Option<Response> {
    let SimulatedApi { provider, dialect } = api;
    let query: Query<HashMap<String, String>> =
        Query::try_from_uri(request.uri()).unwrap_or_default();
    let (parts, body) = request.into_parts();
    let Some(credential) = credential(api, &parts.headers, &query) else {
        let refusal = SimulatedRefusal::new(401, "You didn't provide an API key.");
        return Some(refusal.into_response(provider, ""));
    };
    let account = world.account(provider, &credential);
    let now = world.clock.now();
    let (request_id, quota, admitted) = {
        let mut account = account.lock();
        let (quota, admitted) = account.admit(now);
        (account.unique_hex(32), quota, admitted)
    };
    let host = parts.headers.get(header::HOST);
    let host = host.and_then(|it| it.to_str().ok()).unwrap_or("127.0.0.1");
    let mut call = SimulatedCall {
        world,
        provider,
        dialect,
        account,
        now,
        method: parts.method,
        path: format!("/{path}"),
        query: query.0,
        origin: format!("http://{host}"),
        headers: parts.headers,
        body: Mutex::new(body),
    };
    stall(&mut call).await;
    let answered = match admitted {
        Ok(()) => route_provider(call).await,
        Err(no) => Err(no),
    };
    let mut response = match answered {
        Ok(response) => response,
        Err(CallRejection::Refused(refusal)) => {
            refusal.into_response(provider, &format!("req_{request_id}"))
        }
        Err(CallRejection::Dropped) => return None,
    };
    for (name, value) in provider_headers(provider, &request_id, quota, now) {
        response
            .headers_mut()
            .insert(HeaderName::from_static(name), value);
    }
    Some(response)
}

/// Delays the call if the fault `stall` fires.
async fn stall(call: &mut SimulatedCall) {
    let fired = call.account.lock().faults.fire(FaultName::Stall);
    match fired.map(|fault| fault.seconds) {
        None => {}
        Some(None) => std::future::pending().await,
        Some(Some(seconds)) => {
            let until = call.now + TimeDelta::seconds(i64::from(seconds));
            call.world.clock.wait_until(until).await;
            call.now = call.world.clock.now();
        }
    }
}

async fn route_provider(call: SimulatedCall) -> CallResult {
    match call.provider {
        SimulatedProvider::OpenAi => openai::route(call).await,
        SimulatedProvider::Anthropic => anthropic::route(call).await,
        SimulatedProvider::Gemini => gemini::route(call).await,
        SimulatedProvider::Server => realtime_server::route(call).await,
    }
}

/// The credential, which names the account: from the provider's header or its alternatives.
fn credential(
    api: SimulatedApi,
    headers: &HeaderMap,
    query: &HashMap<String, String>,
) -> Option<String> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
    let bearer = || {
        let sent = header("authorization")?;
        Some(sent.strip_prefix("Bearer ")?.trim().to_owned())
    };
    let named = match api.provider {
        SimulatedProvider::OpenAi => match api.dialect {
            SimulatedDialect::OpenAi => bearer().or_else(|| header("api-key")),
            SimulatedDialect::Azure => header("api-key").or_else(bearer),
            SimulatedDialect::Groq => bearer(),
        },
        SimulatedProvider::Server => bearer().or_else(|| Some(ANONYMOUS_ACCOUNT.to_owned())),
        SimulatedProvider::Anthropic => header("x-api-key").or_else(bearer),
        SimulatedProvider::Gemini => header("x-goog-api-key")
            .or_else(|| query.get("key").cloned())
            .or_else(|| gemini::account_of_upload(query.get("upload_id")?)),
    };
    named.filter(|name| !name.is_empty())
}

fn provider_headers(
    provider: SimulatedProvider,
    request_id: &str,
    quota: Option<CallQuota>,
    now: SimulatorTime,
) -> Vec<(&'static str, HeaderValue)> {
    let mut all = match provider {
        SimulatedProvider::OpenAi => openai::headers(request_id),
        SimulatedProvider::Anthropic => anthropic::headers(request_id),
        SimulatedProvider::Gemini | SimulatedProvider::Server => Vec::new(),
    };
    let Some(quota) = quota else { return all };
    match provider {
        SimulatedProvider::OpenAi => {
            let wait = (quota.resets_at - now).num_seconds().max(0);
            let reset = HeaderValue::from_str(&format!("{wait}s"));
            all.push(("x-ratelimit-limit-requests", quota.limit.into()));
            all.push(("x-ratelimit-remaining-requests", quota.remaining.into()));
            all.extend(reset.ok().map(|it| ("x-ratelimit-reset-requests", it)));
        }
        SimulatedProvider::Anthropic => {
            let reset = quota.resets_at.format("%Y-%m-%dT%H:%M:%SZ").to_string();
            let reset = HeaderValue::from_str(&reset);
            all.push(("anthropic-ratelimit-requests-limit", quota.limit.into()));
            all.push((
                "anthropic-ratelimit-requests-remaining",
                quota.remaining.into(),
            ));
            all.extend(
                reset
                    .ok()
                    .map(|it| ("anthropic-ratelimit-requests-reset", it)),
            );
        }
        SimulatedProvider::Gemini | SimulatedProvider::Server => {}
    }
    all
}
