//! The error type of the Files routes: an API error in their response format.

use std::error::Error;
use std::fmt::Write as _;

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Map;
use wire::error_body::{CodedError, ErrorDetail, LocationStep, ValidationError};
use wire::file::FileErrorBody;

use super::{ApiError, ErrorCode};

/// Errors of the key check keep their plain `detail` on every route.
#[derive(Debug)]
pub struct FileApiError {
    error: ApiError,
    has_plain_detail: bool,
}

impl FileApiError {
    /// `code` is for programs. `message` says to people what is wrong and what to do next.
    pub fn with_code(code: ErrorCode, message: impl Into<String>) -> Self {
        ApiError::with_code(code, message).into()
    }

    /// 422: a field, the query or the body is invalid.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::with_code(ErrorCode::InvalidRequest, message)
    }

    /// 503: a retry may succeed.
    pub fn unavailable(code: ErrorCode, message: impl Into<String>, seconds: u32) -> Self {
        let problem = ApiError::with_code(code, message);
        problem
            .with_header(RETRY_AFTER, HeaderValue::from(seconds))
            .into()
    }

    /// An error of the key check.
    pub(crate) const fn from_key_check(problem: ApiError) -> Self {
        Self {
            error: problem,
            has_plain_detail: true,
        }
    }

    #[must_use]
    pub fn with_cause(self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            error: self.error.with_cause(cause),
            has_plain_detail: self.has_plain_detail,
        }
    }

    pub const fn status(&self) -> StatusCode {
        self.error.status()
    }

    pub fn into_body(self) -> FileErrorBody {
        let status = self.error.status;
        FileErrorBody::new(coded(status, self.error.into_body().detail))
    }
}

impl From<ApiError> for FileApiError {
    fn from(problem: ApiError) -> Self {
        Self {
            error: problem,
            has_plain_detail: false,
        }
    }
}

impl From<store::Error> for FileApiError {
    fn from(error: store::Error) -> Self {
        ApiError::from(error).into()
    }
}

impl IntoResponse for FileApiError {
    fn into_response(self) -> Response {
        let Self {
            error: problem,
            has_plain_detail: plain,
        } = self;
        if plain {
            return problem.into_response();
        }
        let mut problem = problem.with_retry_advice();
        let detail = std::mem::replace(
            &mut problem.body.detail,
            ErrorDetail::ValidationErrors(Vec::new()),
        );
        let refusal = FileErrorBody::new(coded(problem.status, detail));
        problem.respond(&refusal)
    }
}

fn coded(status: StatusCode, detail: ErrorDetail) -> CodedError {
    let (error, message) = match detail {
        ErrorDetail::Coded(coded) => return coded,
        ErrorDetail::Text(text) => (error_code(status), text.into_owned()),
        ErrorDetail::ValidationErrors(faults) => {
            (ErrorCode::InvalidRequest, describe_errors(&faults))
        }
    };
    CodedError {
        error: error.as_str(),
        message,
        more: Map::new(),
    }
}

/// The code of an error that all routes have.
fn error_code(status: StatusCode) -> ErrorCode {
    match status {
        StatusCode::BAD_REQUEST => ErrorCode::IncompleteBody,
        StatusCode::REQUEST_TIMEOUT => ErrorCode::RequestTimeout,
        StatusCode::PAYLOAD_TOO_LARGE => ErrorCode::RequestTooLarge,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => ErrorCode::UnsupportedContentEncoding,
        StatusCode::TOO_MANY_REQUESTS => ErrorCode::RateLimitExceeded,
        StatusCode::SERVICE_UNAVAILABLE => ErrorCode::ServiceUnavailable,
        StatusCode::INTERNAL_SERVER_ERROR => ErrorCode::InternalError,
        _ => ErrorCode::InvalidRequest,
    }
}

/// `sha256 should be …; parts[0].etag is required.`
fn describe_errors(faults: &[ValidationError]) -> String {
    let messages: Vec<_> = faults
        .iter()
        .map(|fault| {
            format!("{} {}", format_location(&fault.loc), fault.msg)
                .trim_start()
                .to_owned()
        })
        .collect();
    messages.join("; ") + "."
}

fn format_location(steps: &[LocationStep]) -> String {
    let mut location = String::new();
    for step in steps {
        match step {
            LocationStep::Key(key) if location.is_empty() => location.push_str(key),
            LocationStep::Key(key) => {
                location.push('.');
                location.push_str(key);
            }
            LocationStep::Index(index) => {
                // Writing to a string cannot fail.
                let _written = write!(location, "[{index}]");
            }
        }
    }
    location
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_text(problem: FileApiError) -> String {
        let status = problem.status().as_u16();
        let body = serde_json::to_string(&problem.into_body()).unwrap();
        format!("{status} {body}")
    }

    #[test]
    fn every_error_has_a_code_and_a_message() {
        let fault = |loc: &[LocationStep], msg: &'static str| ValidationError {
            kind: "value_error",
            loc: loc.to_vec(),
            msg: msg.into(),
        };
        let faults = ApiError::validation(vec![
            fault(&[LocationStep::key("sha256")], "is required"),
            fault(
                &[
                    LocationStep::key("parts"),
                    LocationStep::Index(0),
                    LocationStep::key("etag"),
                ],
                "should be a text",
            ),
        ]);
        insta::assert_snapshot!(error_text(faults.into()), @r#"422 {"error":"invalid_request","message":"sha256 is required; parts[0].etag should be a text.","detail":{"error":"invalid_request","message":"sha256 is required; parts[0].etag should be a text."}}"#);
        insta::assert_snapshot!(error_text(ApiError::internal("the keel is broken").into()), @r#"500 {"error":"internal_error","message":"Internal Server Error","detail":{"error":"internal_error","message":"Internal Server Error"}}"#);
        insta::assert_snapshot!(error_text(ApiError::unavailable("Away.", 1).into()), @r#"503 {"error":"service_unavailable","message":"Away.","detail":{"error":"service_unavailable","message":"Away."}}"#);
        insta::assert_snapshot!(error_text(ApiError::unsupported_content_encoding().into()), @r#"415 {"error":"unsupported_content_encoding","message":"A request body with a Content-Encoding is not accepted. Send it uncompressed, without this header.","detail":{"error":"unsupported_content_encoding","message":"A request body with a Content-Encoding is not accepted. Send it uncompressed, without this header."}}"#);
        insta::assert_snapshot!(error_text(ApiError::too_large(10).into()), @r#"413 {"error":"request_too_large","message":"The request body is larger than 10 bytes.","detail":{"error":"request_too_large","message":"The request body is larger than 10 bytes."}}"#);
    }

    #[test]
    fn the_cause_and_the_headers_are_kept() {
        let away = FileApiError::unavailable(ErrorCode::StorageUnavailable, "Away.", 2);
        let response = away.with_cause("the mast is broken").into_response();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["retry-after"], "2");
        let super::super::ErrorCause(cause) = response.extensions().get().unwrap();
        assert_eq!(cause.to_string(), "the mast is broken");
    }
}
