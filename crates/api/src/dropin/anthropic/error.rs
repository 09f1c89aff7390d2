//! Errors in Anthropic's shape.

use std::future::{Ready, ready};

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::account::AccountRefusal;
use serde_json::json;

use crate::api_error::{ApiError, ErrorCause, ErrorCode};
use crate::dropin::error_text::{code_of, message_of};

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// Anthropic's status for what is 503 elsewhere. Its SDKs retry it.
const OVERLOADED: u16 = 529;

/// An error of these routes.
#[derive(Debug)]
pub(crate) struct AnthropicError {
    status: StatusCode,
    kind: &'static str,
    message: String,
    retry_after_seconds: Option<u64>,
    is_final: bool,
    cause: Option<ErrorCause>,
}

/// The error in the extensions of its response, until the id of the request is known.
#[derive(Debug, Clone)]
pub(super) struct PendingError {
    kind: &'static str,
    message: String,
}

impl PendingError {
    pub(super) fn body(&self, request_id: &str) -> Vec<u8> {
        let error = json!({"type": self.kind, "message": self.message});
        let body = json!({"type": "error", "error": error, "request_id": request_id});
        body.to_string().into_bytes()
    }
}

impl AnthropicError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
            retry_after_seconds: None,
            is_final: false,
            cause: None,
        }
    }

    /// 400: the request is wrong.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    /// 413
    pub(super) fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message)
    }

    pub(super) fn batch_not_found() -> Self {
        let message = "There is no such message batch in this project.";
        Self::new(StatusCode::NOT_FOUND, "not_found_error", message)
    }

    /// 429: too much at once. A repeat may succeed.
    pub(super) fn rate_limited(message: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", message)
    }

    /// 429: the project has as much as it may have. A repeat does not change it.
    pub(super) fn limit_reached(message: impl Into<String>) -> Self {
        Self {
            is_final: true,
            ..Self::rate_limited(message)
        }
    }

    /// 402: the whole batch does not fit into credit, quota or spending cap.
    pub(super) fn billing(refusal: AccountRefusal) -> Self {
        let detail = ApiError::from(refusal).into_body().detail;
        let message = message_of(&detail).replace("This load", "This batch");
        Self::payment_required(message.replace("this load", "this batch"))
    }

    fn payment_required(message: String) -> Self {
        Self {
            is_final: true,
            ..Self::new(StatusCode::PAYMENT_REQUIRED, "billing_error", message)
        }
    }
}

/// For paths below `/anthropic` that have no route.
pub(super) fn unknown_route() -> Ready<AnthropicError> {
    let message = "Longshore serves /v1/messages/batches and /v1/models of this API.";
    let status = StatusCode::NOT_FOUND;
    ready(AnthropicError::new(status, "not_found_error", message))
}

impl From<ApiError> for AnthropicError {
    fn from(error: ApiError) -> Self {
        let (status, retry_after_seconds) = (error.status(), error.retry_after_seconds());
        let cause = error.cause().cloned();
        let detail = error.into_body().detail;
        let message = message_of(&detail);
        let is = |code: ErrorCode| code_of(&detail) == Some(code.as_str());
        let is_used_up = is(ErrorCode::InsufficientCredits)
            || is(ErrorCode::TokenQuotaExceeded)
            || is(ErrorCode::KeySpendingCapExceeded);
        if status == StatusCode::TOO_MANY_REQUESTS && is_used_up {
            return Self::payment_required(message);
        }
        let (status, kind) = shape_of(status);
        Self {
            retry_after_seconds,
            cause,
            ..Self::new(status, kind, message)
        }
    }
}

impl From<store::Error> for AnthropicError {
    fn from(error: store::Error) -> Self {
        ApiError::from(error).into()
    }
}

fn shape_of(status: StatusCode) -> (StatusCode, &'static str) {
    let overloaded = StatusCode::from_u16(OVERLOADED).unwrap_or(status);
    match status {
        StatusCode::UNAUTHORIZED => (status, "authentication_error"),
        StatusCode::PAYMENT_REQUIRED => (status, "billing_error"),
        StatusCode::FORBIDDEN => (status, "permission_error"),
        StatusCode::NOT_FOUND => (status, "not_found_error"),
        StatusCode::PAYLOAD_TOO_LARGE => (status, "request_too_large"),
        StatusCode::TOO_MANY_REQUESTS => (status, "rate_limit_error"),
        StatusCode::SERVICE_UNAVAILABLE => (overloaded, "overloaded_error"),
        _ if status.is_server_error() => (status, "api_error"),
        // A validation error is 422 elsewhere, and a broken body may be 408.
        StatusCode::REQUEST_TIMEOUT => (status, "timeout_error"),
        _ => (StatusCode::BAD_REQUEST, "invalid_request_error"),
    }
}

impl IntoResponse for AnthropicError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if self.is_final {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(cause);
        }
        let (kind, message) = (self.kind, self.message);
        response
            .extensions_mut()
            .insert(PendingError { kind, message });
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(error: ApiError) -> (u16, &'static str, bool) {
        let error = AnthropicError::from(error);
        (error.status.as_u16(), error.kind, error.is_final)
    }

    #[test]
    fn every_error_has_a_type_that_their_clients_know() {
        let text = |status| ApiError::with_text(status, "why");
        let shape_of = |status| shape(text(status));
        assert_eq!(
            shape_of(StatusCode::UNAUTHORIZED),
            (401, "authentication_error", false)
        );
        assert_eq!(
            shape_of(StatusCode::FORBIDDEN),
            (403, "permission_error", false)
        );
        assert_eq!(
            shape_of(StatusCode::TOO_MANY_REQUESTS),
            (429, "rate_limit_error", false)
        );
        let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
        assert_eq!(
            shape_of(unprocessable),
            (400, "invalid_request_error", false)
        );
        assert_eq!(shape(ApiError::internal("why")), (500, "api_error", false));
        assert_eq!(
            shape(ApiError::unavailable("why", 1)),
            (529, "overloaded_error", false)
        );
        let used_up = ApiError::with_code(ErrorCode::InsufficientCredits, "why");
        assert_eq!(shape(used_up), (402, "billing_error", true));
    }
}
