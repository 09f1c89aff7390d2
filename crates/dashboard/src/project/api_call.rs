//! Calls routes of the API in-process for the signed-in user. Its errors become pages.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::StatusCode;
use http::header::RETRY_AFTER;
use http_body_util::{BodyExt as _, Collected, Limited};
use serde_json::Value;

use crate::access::ProjectAccess;
use crate::page_error::PageError;
use crate::state::DashboardState;

const MAX_ERROR_BYTES: usize = 64 << 10;
const DEFAULT_RETRY_SECONDS: i64 = 5;

/// Sends a request without a body, and returns the answer if it is a success.
pub(crate) async fn send(
    state: &DashboardState,
    within: &ProjectAccess,
    request: http::request::Builder,
) -> Result<Response, PageError> {
    let request: Request = request
        .body(Body::empty())
        .map_err(|_| PageError::NotFound)?;
    let response = state.api.call(within.caller_identity(), request).await;
    if response.status().is_success() {
        Ok(response)
    } else {
        Err(read_error(response).await)
    }
}

async fn read_error(response: Response) -> PageError {
    let status = response.status();
    let seconds = response.headers().get(RETRY_AFTER);
    let seconds = seconds.and_then(|it| it.to_str().ok()?.parse().ok());
    if status == StatusCode::NOT_FOUND {
        return PageError::NotFound;
    }
    if status == StatusCode::TOO_MANY_REQUESTS {
        return PageError::RateLimited {
            what: "requests",
            seconds: seconds.unwrap_or(DEFAULT_RETRY_SECONDS),
        };
    }
    let body = Limited::new(response.into_body(), MAX_ERROR_BYTES).collect();
    let body = body.await.map(Collected::to_bytes).unwrap_or_default();
    PageError::Invalid(read_message(&body))
}

/// The message of the API's error, which is an object with a code or a text.
fn read_message(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let detail = body.get("detail");
    let message = detail.and_then(|it| it.get("message")).or(detail);
    let message = message.and_then(Value::as_str);
    let message = message.unwrap_or("The API returned no error message. Try again later.");
    message.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_errors_have_their_message() {
        let coded = br#"{"detail": {"error": "x", "message": "Not now."}}"#;
        assert_eq!(read_message(coded), "Not now.");
        assert_eq!(read_message(br#"{"detail": "Retry."}"#), "Retry.");
        assert!(read_message(b"?").starts_with("The API returned no"));
    }
}
