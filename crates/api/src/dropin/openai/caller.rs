//! The caller of an `OpenAI` route: the key comes as a bearer token.

use axum::extract::FromRequestParts;
use http::HeaderValue;
use http::header::AUTHORIZATION;
use http::request::Parts;

use crate::api_error::OpenAiApiError;
use crate::auth::{API_KEY_HEADER, LimitedCaller};
use crate::caller::Caller;
use crate::state::App;

const BEARER: &str = "Bearer ";

#[derive(Debug, Clone)]
pub(crate) struct OpenAiCaller(pub(crate) Caller);

impl FromRequestParts<App> for OpenAiCaller {
    type Rejection = OpenAiApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, OpenAiApiError> {
        if !parts.headers.contains_key(API_KEY_HEADER)
            && let Some(key) = bearer_key(parts)
        {
            parts.headers.insert(API_KEY_HEADER, key);
        }
        let LimitedCaller(caller) = LimitedCaller::from_request_parts(parts, app).await?;
        Ok(Self(caller))
    }
}

fn bearer_key(parts: &Parts) -> Option<HeaderValue> {
    let value = parts.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_at_checked(BEARER.len())?;
    let is_bearer = scheme.eq_ignore_ascii_case(BEARER);
    let mut key = HeaderValue::from_str(key.trim())
        .ok()
        .filter(|_| is_bearer)?;
    key.set_sensitive(true);
    Some(key)
}
