//! The error type of the `OpenAI` routes: an API error in their response format.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use wire::error_body::{ErrorDetail, LocationStep};

use super::{ApiError, ErrorCode};

/// An error as `{"error": {"message", "type", "param", "code"}}`.
#[derive(Debug)]
pub(crate) struct OpenAiApiError {
    /// Boxed, to keep the many `Result`s with this error small.
    error: Box<ApiError>,
    param: Option<String>,
    /// Instead of the code of the error.
    code: Option<&'static str>,
}

impl OpenAiApiError {
    /// 400: a parameter is wrong.
    pub(crate) fn invalid(
        param: Option<&str>,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self::with_status(StatusCode::BAD_REQUEST, param, code, message)
    }

    pub(crate) fn missing(param: &str) -> Self {
        let message = format!("Missing required parameter: '{param}'.");
        Self::invalid(Some(param), "missing_required_parameter", message)
    }

    pub(crate) fn with_status(
        status: StatusCode,
        param: Option<&str>,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            error: Box::new(ApiError::with_text(status, message.into())),
            param: param.map(str::to_owned),
            code: Some(code),
        }
    }

    #[cfg(test)]
    pub(crate) fn param(&self) -> Option<String> {
        self.param.clone()
    }
}

impl From<ApiError> for OpenAiApiError {
    fn from(error: ApiError) -> Self {
        Self {
            error: Box::new(error),
            param: None,
            code: None,
        }
    }
}

impl From<store::Error> for OpenAiApiError {
    fn from(error: store::Error) -> Self {
        ApiError::from(error).into()
    }
}

impl IntoResponse for OpenAiApiError {
    fn into_response(self) -> Response {
        let mut error = self.error.with_retry_advice();
        // Clients know 400 for every invalid request.
        if error.status == StatusCode::UNPROCESSABLE_ENTITY {
            error.status = StatusCode::BAD_REQUEST;
        }
        let nothing = ErrorDetail::ValidationErrors(Vec::new());
        let detail = std::mem::replace(&mut error.body.detail, nothing);
        let described = describe(error.status, detail);
        let body = json!({"error": {
            "message": described.message,
            "type": error_type(error.status, described.code),
            "param": self.param.or(described.param),
            "code": self.code.or(described.code),
        }});
        error.respond(&body)
    }
}

struct DescribedError {
    message: String,
    code: Option<&'static str>,
    param: Option<String>,
}

fn describe(status: StatusCode, detail: ErrorDetail) -> DescribedError {
    match detail {
        ErrorDetail::Text(text) => DescribedError {
            message: text.into_owned(),
            code: status_code(status),
            param: None,
        },
        ErrorDetail::Coded(coded) => DescribedError {
            code: Some(if is_used_up(coded.error) {
                "insufficient_quota"
            } else {
                coded.error
            }),
            message: coded.message,
            param: coded
                .more
                .get("param")
                .and_then(Value::as_str)
                .map(str::to_owned),
        },
        ErrorDetail::ValidationErrors(faults) => {
            let messages = faults.iter().map(|fault| {
                let place = location(&fault.loc);
                format!("{place}: {}", fault.msg)
            });
            DescribedError {
                message: messages.collect::<Vec<_>>().join("; "),
                code: Some("invalid_value"),
                param: faults.first().map(|fault| location(&fault.loc)),
            }
        }
    }
}

fn is_used_up(code: &str) -> bool {
    let used_up = [
        ErrorCode::TokenQuotaExceeded,
        ErrorCode::InsufficientCredits,
        ErrorCode::KeySpendingCapExceeded,
    ];
    used_up.iter().any(|it| it.as_str() == code)
}

/// The path without its first step, which says that it is in the body.
fn location(steps: &[LocationStep]) -> String {
    let steps = steps.iter().skip(1).map(|step| match step {
        LocationStep::Key(key) => key.to_string(),
        LocationStep::Index(index) => index.to_string(),
    });
    steps.collect::<Vec<_>>().join(".")
}

/// The code of an error that has only a text.
fn status_code(status: StatusCode) -> Option<&'static str> {
    match status {
        StatusCode::UNAUTHORIZED => Some("invalid_api_key"),
        StatusCode::TOO_MANY_REQUESTS => Some("rate_limit_exceeded"),
        StatusCode::NOT_FOUND => Some("not_found"),
        _ => None,
    }
}

fn error_type(status: StatusCode, code: Option<&str>) -> &'static str {
    if code == Some("insufficient_quota") {
        return "insufficient_quota";
    }
    match status {
        StatusCode::TOO_MANY_REQUESTS => "requests",
        _ if status.is_server_error() => "server_error",
        _ => "invalid_request_error",
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    async fn written(error: OpenAiApiError) -> (u16, Option<String>, Value) {
        let response = error.into_response();
        let status = response.status().as_u16();
        let retry = response.headers().get("x-should-retry");
        let retry = retry.and_then(|it| it.to_str().ok()).map(str::to_owned);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, retry, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn errors_have_the_format_that_clients_read() {
        let error = OpenAiApiError::invalid(Some("purpose"), "invalid_value", "No.");
        let (status, retry, body) = written(error).await;
        assert_eq!((status, retry), (400, None));
        let expected = json!({"error": {
            "message": "No.", "type": "invalid_request_error", "param": "purpose",
            "code": "invalid_value",
        }});
        assert_eq!(body, expected);
        let key = ApiError::with_text(StatusCode::UNAUTHORIZED, "Invalid API key.");
        let (status, _, body) = written(key.into()).await;
        assert_eq!(status, 401);
        assert_eq!(body["error"]["code"], "invalid_api_key");
        let credit = ApiError::with_code(ErrorCode::InsufficientCredits, "Add credit.");
        let (status, retry, body) = written(credit.into()).await;
        assert_eq!((status, retry.as_deref()), (429, Some("false")));
        assert_eq!(body["error"]["code"], "insufficient_quota");
        assert_eq!(body["error"]["type"], "insufficient_quota");
        let rate = ApiError::with_code(ErrorCode::RateLimitExceeded, "Slower.");
        let (status, retry, body) = written(rate.into()).await;
        assert_eq!((status, retry), (429, None));
        assert_eq!(body["error"]["code"], "rate_limit_exceeded");
        let field = ApiError::validation_at(["body", "params"], "is wrong");
        let (status, _, body) = written(field.into()).await;
        assert_eq!(status, 400);
        assert_eq!(body["error"]["param"], "params");
    }
}
