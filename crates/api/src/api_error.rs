//! The API's error type: a status and `{"detail": …}`.
//!
//! The internal cause is kept beside it, for the log only.

use std::borrow::Cow;
use std::error::Error;
use std::future::{Ready, ready};
use std::sync::Arc;

use axum::http::header::{ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use wire::error_body::{CodedError, ErrorBody, ErrorDetail, LocationStep, ValidationError};

mod file_api_error;

mod conversions;

mod error_code;

mod group_errors;

mod openai_api_error;

pub use error_code::ErrorCode;
pub use file_api_error::FileApiError;
pub(crate) use openai_api_error::OpenAiApiError;

/// `false` on errors that a repeat cannot change. The providers' own clients obey it, too.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// An error response.
#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    /// Boxed, to keep the many `Result`s with this error small.
    body: Box<ErrorBody>,
    headers: Vec<(HeaderName, HeaderValue)>,
    cause: Option<ErrorCause>,
}

/// The internal cause of an error. It is in the response's extensions, never in its body.
#[derive(Debug, Clone)]
pub struct ErrorCause(pub Arc<dyn Error + Send + Sync>);

impl ApiError {
    pub fn with_text(status: StatusCode, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(status, ErrorDetail::Text(detail.into()))
    }

    /// `code` is for programs and has the status, `message` is for people.
    pub fn with_code(code: ErrorCode, message: impl Into<String>) -> Self {
        let coded = CodedError {
            error: code.as_str(),
            message: message.into(),
            more: Map::new(),
        };
        Self::new(code.status(), ErrorDetail::Coded(coded))
    }

    pub fn validation(faults: Vec<ValidationError>) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            ErrorDetail::ValidationErrors(faults),
        )
    }

    /// One validation error, at a location like `["header", "idempotency-key"]`.
    pub fn validation_at<const STEPS: usize>(
        location: [&'static str; STEPS],
        msg: impl Into<Cow<'static, str>>,
    ) -> Self {
        let loc = location.map(LocationStep::key).to_vec();
        Self::validation(vec![ValidationError {
            kind: "value_error",
            loc,
            msg: msg.into(),
        }])
    }

    /// 503: a retry may succeed.
    pub fn unavailable(detail: impl Into<Cow<'static, str>>, retry_after_seconds: u32) -> Self {
        Self::with_text(StatusCode::SERVICE_UNAVAILABLE, detail)
            .with_header(RETRY_AFTER, HeaderValue::from(retry_after_seconds))
    }

    /// 500: the body does not reveal the cause.
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::with_text(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
            .with_cause(cause)
    }

    pub fn cargo_not_found() -> Self {
        Self::with_text(StatusCode::NOT_FOUND, "Cargo not found")
    }

    pub fn shard_unavailable() -> Self {
        let detail = "The database shard of your organization is unavailable. Retry shortly.";
        Self::unavailable(detail, 5)
    }

    pub fn too_large(max_bytes: usize) -> Self {
        let detail = format!("The request body is larger than {max_bytes} bytes.");
        Self::with_text(StatusCode::PAYLOAD_TOO_LARGE, detail)
    }

    /// 408: the listener has a deadline for each body.
    pub fn slow_body() -> Self {
        let detail = "The request body arrived too slowly. Send the request again.";
        Self::with_text(StatusCode::REQUEST_TIMEOUT, detail)
    }

    /// 400: the connection broke off.
    pub fn incomplete_body() -> Self {
        let detail = "The request body ended before it was complete. Send the request again.";
        Self::with_text(StatusCode::BAD_REQUEST, detail)
    }

    /// 415: the body is compressed.
    pub fn unsupported_content_encoding() -> Self {
        let detail = "A request body with a Content-Encoding is not accepted. Send it \
                      uncompressed, without this header.";
        Self::with_text(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
            .with_header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
    }

    pub fn idempotency_key_reused() -> Self {
        let message = "This Idempotency-Key was used with another body in the last 24 hours. Use \
                       a new key for a new request.";
        Self::with_code(ErrorCode::IdempotencyKeyReused, message)
    }

    /// Adds a field to the detail of an error with a code.
    #[must_use]
    pub fn with_field(mut self, field: &'static str, value: impl Into<Value>) -> Self {
        if let ErrorDetail::Coded(coded) = &mut self.body.detail {
            coded.more.insert(field.to_owned(), value.into());
        }
        self
    }

    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(ErrorCause(Arc::from(cause.into())));
        self
    }

    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// For the log only.
    pub(crate) const fn cause(&self) -> Option<&ErrorCause> {
        self.cause.as_ref()
    }

    /// The value of `Retry-After`.
    pub(crate) fn retry_after_seconds(&self) -> Option<u64> {
        let header = self.headers.iter().find(|(name, _)| *name == RETRY_AFTER);
        header?.1.to_str().ok()?.parse().ok()
    }

    pub fn into_body(self) -> ErrorBody {
        *self.body
    }

    /// Tells clients not to repeat the request, if the status alone would mislead them.
    fn with_retry_advice(self) -> Self {
        let code = match &self.body.detail {
            ErrorDetail::Coded(coded) => Some(coded.error),
            ErrorDetail::Text(_) | ErrorDetail::ValidationErrors(_) => None,
        };
        if error_code::is_final(self.status, code) {
            return self.with_header(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        self
    }

    /// The response with this error's status, headers and cause, and the given body.
    fn respond(self, body: &impl Serialize) -> Response {
        // Only texts, numbers and string keys are serialized, so this cannot fail.
        let body = serde_json::to_vec(body).unwrap_or_default();
        let json = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut response = (self.status, [json], body).into_response();
        response.headers_mut().extend(self.headers);
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(cause);
        }
        response
    }

    fn new(status: StatusCode, detail: ErrorDetail) -> Self {
        Self {
            status,
            body: Box::new(ErrorBody { detail }),
            headers: Vec::new(),
            cause: None,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut problem = self.with_retry_advice();
        let nothing = ErrorDetail::ValidationErrors(Vec::new());
        let detail = std::mem::replace(&mut problem.body.detail, nothing);
        problem.respond(&ErrorBody { detail })
    }
}

/// The response when no route matches.
pub fn not_found() -> Ready<ApiError> {
    ready(ApiError::with_text(StatusCode::NOT_FOUND, "Not Found"))
}

/// The response when a route does not have the method.
pub fn method_not_allowed() -> Ready<ApiError> {
    ready(ApiError::with_text(
        StatusCode::METHOD_NOT_ALLOWED,
        "Method Not Allowed",
    ))
}

#[cfg(test)]
mod tests;
