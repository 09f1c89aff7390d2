//! Authentication by `X-API-Key`: the header becomes a caller, or one of the contract's errors.

use axum::extract::FromRequestParts;
use domain::authentication_flag::AuthenticationFlag;
use http::request::Parts;

use crate::api_error::ApiError;
use crate::api_keys::AuthenticationError;
use crate::caller::Caller;
use crate::state::App;

const API_KEY_HEADER: &str = "x-api-key";

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        // Only this program sets extensions. A client cannot.
        if let Some(acting) = parts.extensions.get::<Self>() {
            return Ok(*acting);
        }
        let presented = parts
            .headers
            .get(API_KEY_HEADER)
            .map_or(&[][..], |value| value.as_bytes());
        let caller = app.keys.authenticate(presented).await?;
        if let Some(flag) = parts.extensions.get::<AuthenticationFlag>() {
            flag.set();
        }
        Ok(caller)
    }
}

/// A caller whose request is counted against the limit of its route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitedCaller(pub(crate) Caller);

impl FromRequestParts<App> for LimitedCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        app.route_limiter
            .count_request(caller.project, &parts.method)?;
        Ok(Self(caller))
    }
}

/// A caller whose load has room in the writer's queue and is counted against the backstop.
///
/// This runs before the body is read. In an overload most loads are refused here, at little cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdmittedCaller(pub(crate) Caller);

impl FromRequestParts<App> for AdmittedCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        app.shard_handle(caller.berth)?
            .writer
            .check_capacity(&caller)?;
        app.limiter.count_request(caller.project).await?;
        Ok(Self(caller))
    }
}

impl From<AuthenticationError> for ApiError {
    fn from(reason: AuthenticationError) -> Self {
        match reason {
            AuthenticationError::Refused(refusal) => Self::from(refusal),
            AuthenticationError::ControlUnavailable { retry_after } => Self::unavailable(
                "API keys cannot be checked at the moment. Retry after the time in Retry-After.",
                retry_after,
            ),
        }
    }
}
