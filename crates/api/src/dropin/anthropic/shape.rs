//! What all requests in Anthropic's format have in common: where the key is, and the request id.

use axum::extract::Request;
use axum::http::HeaderName;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use super::error::PendingError;
use crate::request_id::ChosenRequestId;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// Moves a bearer token to where our keys are, and writes the bodies of errors, which have the id.
pub(super) async fn shape(mut request: Request, next: Next) -> Response {
    if let Some(key) = bearer_token(request.headers()) {
        request.headers_mut().insert(API_KEY, key);
    }
    let id = format!("req_{:032x}", rand::random::<u128>());
    let mut response = next.run(request).await;
    if let Some(error) = response.extensions_mut().remove::<PendingError>() {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        *response.body_mut() = error.body(&id).into();
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    // The answer has addresses of this caller's origin, or results.
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, no_store);
    response.extensions_mut().insert(ChosenRequestId(id));
    response
}

/// The token of `Authorization`, if there is no key in its own header.
fn bearer_token(headers: &HeaderMap) -> Option<HeaderValue> {
    if headers.contains_key(API_KEY) {
        return None;
    }
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked("bearer ".len())?;
    let is_bearer = scheme.eq_ignore_ascii_case(b"bearer ");
    let token = HeaderValue::from_bytes(token.trim_ascii()).ok();
    token.filter(|_| is_bearer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_in_either_header() {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer svc_sk_1"));
        let token = bearer_token(&headers);
        assert_eq!(token, Some(HeaderValue::from_static("svc_sk_1")));
        headers.insert(API_KEY, HeaderValue::from_static("svc_sk_2"));
        assert_eq!(bearer_token(&headers), None);
        headers.remove(API_KEY);
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Basic x"));
        assert_eq!(bearer_token(&headers), None);
    }
}
