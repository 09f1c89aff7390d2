//! Authentication by `X-API-Key`: the header becomes a caller, or one of the contract's errors.

use axum::extract::FromRequestParts;
use domain::authentication_flag::AuthenticationFlag;
use domain::forwarded_for::ClientAddress;
use domain::key_scope::KeyRight;
use http::request::Parts;
use http::{HeaderMap, Method};

use crate::api_error::ApiError;
use crate::api_keys::AuthenticationError;
use crate::caller::Caller;
use crate::rate_limit::RateLimitToken;
use crate::request_body::declared_length;
use crate::request_span::RequestTraceSlot;
use crate::state::App;

pub(crate) const API_KEY_HEADER: &str = "x-api-key";
/// A longer body arrives in several parts.
const MAX_BYTES_AT_ONCE: u64 = 64 << 10;

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        // Only this program sets extensions. A client cannot.
        if let Some(acting) = parts.extensions.get::<Self>() {
            return Ok(acting.clone());
        }
        let presented = parts
            .headers
            .get(API_KEY_HEADER)
            .map_or(&[][..], |value| value.as_bytes());
        // The router sets the right of every route that authenticates callers.
        let right = parts.extensions.get::<KeyRight>().copied();
        let right = right.ok_or_else(|| ApiError::internal("the route has no right"))?;
        // None if the request came in-process.
        let address = parts.extensions.get::<ClientAddress>().map(|it| it.0);
        let caller = app.keys.authenticate(presented, right, address).await?;
        if let Some(flag) = parts.extensions.get::<AuthenticationFlag>() {
            flag.set();
        }
        Ok(caller)
    }
}

/// A caller whose request is counted against the limit of its route.
#[derive(Debug, Clone)]
pub(crate) struct LimitedCaller(pub(crate) Caller);

impl FromRequestParts<App> for LimitedCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        // `POST /cargo/wait` only reads.
        let method = match parts.extensions.get::<KeyRight>() {
            Some(KeyRight::Read) => &Method::GET,
            Some(KeyRight::Load | KeyRight::Files) | None => &parts.method,
        };
        app.route_limiter.count_request(caller.project, method)?;
        Ok(Self(caller))
    }
}

/// A caller whose load has room in the writer's queue and is counted against the backstop. Its
/// trace, if it has one, is in the extensions from then on.
///
/// This runs before the body is read. In an overload most loads are refused here, at little cost.
#[derive(Debug, Clone)]
pub(crate) struct AdmittedCaller(pub(crate) Caller);

impl FromRequestParts<App> for AdmittedCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = find_caller_with_room(parts, app).await?;
        app.limiter.count_request(caller.project).await?;
        Ok(Self(caller))
    }
}

/// The same for one load, with a token of its organization.
#[derive(Debug)]
pub(crate) struct LoadCaller {
    pub(crate) caller: Caller,
    /// Taken with the count of the backstop, so that the limiter is asked once. None if the bucket
    /// was empty, or if the body may take long to arrive: no other load should miss the token
    /// meanwhile. The bucket is then asked after the checks of the body, which come first.
    pub(crate) token: Option<RateLimitToken>,
}

impl FromRequestParts<App> for LoadCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = find_caller_with_room(parts, app).await?;
        if !arrives_at_once(&parts.headers) {
            app.limiter.count_request(caller.project).await?;
            return Ok(Self {
                caller,
                token: None,
            });
        }
        let rate = app.plan_limits.borrow().for_plan(caller.plan).rate;
        let (project, organization) = (caller.project, caller.organization);
        let admitted = app.limiter.admit_load(project, organization, rate).await?;
        Ok(Self {
            caller,
            token: admitted.ok(),
        })
    }
}

async fn find_caller_with_room(parts: &mut Parts, app: &App) -> Result<Caller, ApiError> {
    let caller = Caller::from_request_parts(parts, app).await?;
    let slot = parts.extensions.get::<RequestTraceSlot>().cloned();
    let trace = slot.zip(app.request_tracer.as_ref());
    let trace =
        trace.and_then(|(slot, tracer)| tracer.decide(&slot, &parts.headers, caller.project));
    if let Some(trace) = trace {
        parts.extensions.insert(trace);
    }
    let handle = app.shard_handle(caller.berth)?;
    handle.writer.check_capacity(&caller)?;
    Ok(caller)
}

/// Whether the body probably arrives together with the headers.
fn arrives_at_once(headers: &HeaderMap) -> bool {
    declared_length(headers).is_some_and(|length| length <= MAX_BYTES_AT_ONCE)
}

impl From<AuthenticationError> for ApiError {
    fn from(reason: AuthenticationError) -> Self {
        match reason {
            AuthenticationError::Refused(refusal) => Self::from(refusal),
            AuthenticationError::OutOfScope(refusal) => Self::from(refusal),
            AuthenticationError::ControlUnavailable { retry_after } => Self::unavailable(
                "API keys cannot be checked at the moment. Retry after the time in Retry-After.",
                retry_after,
            ),
        }
    }
}
