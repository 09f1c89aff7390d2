//! The listen tunnel: callbacks for a program that has no public host. It holds a stream open and
//! answers by further requests.

pub(crate) mod answer;
pub(crate) mod answer_request;
mod stream;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use domain::callback_signature::SigningSecret;
use domain::id::ListenerId;
use domain::key_scope::{KeyRight, KeyScopeRefusal};
use domain::listener_name::ListenerName;
use store::shard::listener::ListenerRow;

use crate::api_error::{ApiError, ErrorCode};
use crate::auth::{API_KEY_HEADER, LimitedCaller};
use crate::key_recheck::KeyRecheck;
use crate::listen::stream::{ListenerStream, StreamGuards};
use crate::listener_hub::MAX_LISTENERS_PER_PROJECT;
use crate::state::App;

/// For proxies that collect a response before they send it on.
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const BUSY_RETRY_SECONDS: u32 = 5;

pub(crate) fn router() -> Router<App> {
    Router::new()
        .route(
            "/listen",
            get(listen).route_layer(Extension(KeyRight::Read)),
        )
        .route(
            "/listen/{listener_id}/answers",
            post(answer::answer).route_layer(Extension(KeyRight::Load)),
        )
}

async fn listen(
    LimitedCaller(caller): LimitedCaller,
    recheck: KeyRecheck,
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if !app.rules.allows_listeners {
        return Err(tunnel_off());
    }
    // A listener also acknowledges callbacks, which reading alone does not allow.
    let rights = caller.scope().and_then(|scope| scope.rights.as_ref());
    if rights.is_some_and(|rights| !rights.contains(&KeyRight::Load)) {
        return Err(KeyScopeRefusal::Right(KeyRight::Load).into());
    }
    let name = parse_name(&uri)?;
    let key = headers.get(API_KEY_HEADER);
    let key = key.ok_or_else(|| ApiError::internal("a listener came without an API key"))?;
    let secret = SigningSecret::of_listener(key.as_bytes(), caller.project, &name);
    let handle = app.shard_handle(caller.berth)?;
    let permit = handle.waiters.occupy_connection(caller.project);
    let permit = permit.ok_or_else(too_many_streams)?;
    let row = ListenerRow {
        id: ListenerId::new(handle.shard.clock.now(), caller.berth, rand::random()),
        project: caller.project,
        name,
    };
    let listener = handle.listeners.register(&handle.shard, row).await?;
    let listener = listener.ok_or_else(too_many_listeners)?;
    let guards = StreamGuards {
        key: recheck.with_right(KeyRight::Load),
        stop: app.stop_token(),
        _permit: permit,
    };
    let stream = ListenerStream::new(listener, &handle.shard, secret, guards);
    let mut response = stream.into_sse().into_response();
    let buffering = HeaderValue::from_static("no");
    response.headers_mut().insert(NO_BUFFERING, buffering);
    Ok(response)
}

pub(crate) fn parse_name(uri: &Uri) -> Result<ListenerName, ApiError> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let pairs = pairs.map(|Query(pairs)| pairs).unwrap_or_default();
    let name = pairs.into_iter().find(|(field, _)| field == "name");
    let name = name.and_then(|(_, value)| value.parse().ok());
    name.ok_or_else(|| {
        let msg = "name should have 1 to 32 lowercase letters, digits and hyphens";
        ApiError::validation_at(["query", "name"], msg)
    })
}

pub(crate) fn too_many_listeners() -> ApiError {
    let most = MAX_LISTENERS_PER_PROJECT;
    let message = format!(
        "Your project has {most} listeners, the maximum. Stop one, or listen under the name of one \
         to replace it."
    );
    ApiError::with_code(ErrorCode::TooManyListeners, message).with_field("max_listeners", most)
}

pub(crate) fn too_many_streams() -> ApiError {
    let detail = "Too many requests wait at this server. Retry shortly.";
    ApiError::unavailable(detail, BUSY_RETRY_SECONDS)
}

pub(crate) fn tunnel_off() -> ApiError {
    let detail = "The listen tunnel is switched off in this installation. Use an https \
                  callback_url.";
    ApiError::with_text(StatusCode::NOT_FOUND, detail)
}
