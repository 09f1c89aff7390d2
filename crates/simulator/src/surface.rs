//! From a request to the provider and the account that it is for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::Query;
use axum::response::Response;
use chrono::TimeDelta;
use http::{HeaderMap, HeaderName, HeaderValue, Request, header};

use crate::account::Quota;
use crate::admin;
use crate::anthropic;
use crate::call::{Answered, Call};
use crate::clock::Moment;
use crate::fault::Name;
use crate::gemini;
use crate::openai;
use crate::provider::Provider;
use crate::refusal::{No, Refusal};
use crate::server;
use crate::world::World;

/// Whoever calls without a credential, where none is needed.
const NOBODY: &str = "anonymous";

/// The answer, or none if the connection shall be closed without one.
pub async fn serve(world: Arc<World>, request: Request<Body>) -> Option<Response> {
    let path = request.uri().path().to_owned();
    let rest = path.trim_start_matches('/');
    let (first, rest) = rest.split_once('/').unwrap_or((rest, ""));
    if first == "admin" {
        return Some(admin::route(&world, rest, request).await);
    }
    let Some(provider) = Provider::named(first) else {
        let refusal = Refusal::new(404, "openai, anthropic, gemini, server and admin are here");
        return Some(refusal.into_response(Provider::OpenAi, ""));
    };
    provide(world, provider, rest, request).await
}

async fn provide(
    world: Arc<World>,
    provider: Provider,
    path: &str,
    request: Request<Body>,
) -> Option<Response> {
    let query: Query<HashMap<String, String>> =
        Query::try_from_uri(request.uri()).unwrap_or_default();
    let (parts, body) = request.into_parts();
    let Some(credential) = credential(provider, &parts.headers, &query) else {
        let refusal = Refusal::new(401, "You didn't provide an API key.");
        return Some(refusal.into_response(provider, ""));
    };
    let account = world.account(provider, &credential);
    let now = world.clock.now();
    let (request_id, quota, admitted) = {
        let mut account = account.lock();
        let (quota, admitted) = account.admit(now);
        (account.fresh(32), quota, admitted)
    };
    let host = parts.headers.get(header::HOST);
    let host = host.and_then(|it| it.to_str().ok()).unwrap_or("127.0.0.1");
    let mut call = Call {
        world,
        provider,
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
        Ok(()) => route(call).await,
        Err(no) => Err(no),
    };
    let mut response = match answered {
        Ok(response) => response,
        Err(No::Refused(refusal)) => refusal.into_response(provider, &format!("req_{request_id}")),
        Err(No::Dropped) => return None,
    };
    for (name, value) in headers(provider, &request_id, quota, now) {
        response
            .headers_mut()
            .insert(HeaderName::from_static(name), value);
    }
    Some(response)
}

/// Holds the call up, if a fault asks for it.
async fn stall(call: &mut Call) {
    let fired = call.account.lock().faults.fire(Name::Stall);
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

async fn route(call: Call) -> Answered {
    match call.provider {
        Provider::OpenAi => openai::route(call).await,
        Provider::Anthropic => anthropic::route(call).await,
        Provider::Gemini => gemini::route(call).await,
        Provider::Server => server::route(call).await,
    }
}

/// What names the account: the header of the provider, or what stands for it.
fn credential(
    provider: Provider,
    headers: &HeaderMap,
    query: &HashMap<String, String>,
) -> Option<String> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
    let bearer = || {
        let sent = header("authorization")?;
        Some(sent.strip_prefix("Bearer ")?.trim().to_owned())
    };
    let named = match provider {
        Provider::OpenAi => bearer().or_else(|| header("api-key")),
        Provider::Server => bearer().or_else(|| Some(NOBODY.to_owned())),
        Provider::Anthropic => header("x-api-key").or_else(bearer),
        Provider::Gemini => header("x-goog-api-key")
            .or_else(|| query.get("key").cloned())
            .or_else(|| gemini::account_of_upload(query.get("upload_id")?)),
    };
    named.filter(|name| !name.is_empty())
}

fn headers(
    provider: Provider,
    request_id: &str,
    quota: Option<Quota>,
    now: Moment,
) -> Vec<(&'static str, HeaderValue)> {
    let mut all = match provider {
        Provider::OpenAi => openai::headers(request_id),
        Provider::Anthropic => anthropic::headers(request_id),
        Provider::Gemini | Provider::Server => Vec::new(),
    };
    let Some(quota) = quota else { return all };
    match provider {
        Provider::OpenAi => {
            let wait = (quota.resets_at - now).num_seconds().max(0);
            let reset = HeaderValue::from_str(&format!("{wait}s"));
            all.push(("x-ratelimit-limit-requests", quota.limit.into()));
            all.push(("x-ratelimit-remaining-requests", quota.remaining.into()));
            all.extend(reset.ok().map(|it| ("x-ratelimit-reset-requests", it)));
        }
        Provider::Anthropic => {
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
        Provider::Gemini | Provider::Server => {}
    }
    all
}
