//! Why a call of the API did not succeed.

use bytes::Bytes;
use http::Response;
use serde_json::Value;

use crate::retry;
use crate::transport::{TransportFailure, TransportSetupError};

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("{0}")]
    Refused(Box<ApiErrorAnswer>),
    #[error(transparent)]
    Transport(#[from] TransportFailure),
    #[error("the answer cannot be read: {0}")]
    UnreadableAnswer(String),
    #[error(transparent)]
    Setup(#[from] TransportSetupError),
    #[error("the request is invalid: {0}")]
    InvalidRequest(String),
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
}

/// An error that the API answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiErrorAnswer {
    pub status: u16,
    pub code: Option<String>,
    /// The class of the error in every client.
    pub class: &'static str,
    pub message: String,
    /// What a person can do about it.
    pub advice: &'static str,
    pub detail: Value,
    pub request_id: Option<String>,
    /// Of the header `Retry-After`, or of the body.
    pub retry_after_seconds: Option<f64>,
    /// Of the header `x-should-retry`.
    pub should_retry: Option<bool>,
}

impl std::fmt::Display for ApiErrorAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.message)?;
        match &self.code {
            Some(code) => write!(f, " ({}, {code})", self.status),
            None => write!(f, " ({})", self.status),
        }
    }
}

impl ApiErrorAnswer {
    pub(crate) fn from_answer(answer: &Response<Bytes>) -> Self {
        let header = |name: &str| answer.headers().get(name)?.to_str().ok();
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let detail = body.get("detail").cloned().unwrap_or_default();
        let mut refusal = Self::from_detail(answer.status().as_u16(), detail);
        refusal.request_id = header("x-request-id").map(str::to_owned);
        let retry_after = header("retry-after").and_then(|text| text.parse().ok());
        refusal.retry_after_seconds = retry_after.or(refusal.retry_after_seconds);
        refusal.should_retry = header("x-should-retry").and_then(|text| text.parse().ok());
        refusal
    }

    /// From the `detail` of an error: a text, an object with a code, or a list of faults.
    pub fn from_detail(status: u16, detail: Value) -> Self {
        let text = |field: &str| Some(detail.get(field)?.as_str()?.to_owned());
        let code = text("error");
        let entry = retry::find_entry(status, code.as_deref());
        let message = text("message").unwrap_or_else(|| describe(&detail, status));
        Self {
            status,
            class: entry.map_or("ApiError", |entry| entry.class),
            advice: entry.map_or("", |entry| entry.advice),
            message,
            code,
            request_id: None,
            retry_after_seconds: detail.get("retry_after_seconds").and_then(Value::as_f64),
            should_retry: None,
            detail,
        }
    }
}

impl ClientError {
    pub fn refusal(&self) -> Option<&ApiErrorAnswer> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Transport(_)
            | Self::UnreadableAnswer(_)
            | Self::Setup(_)
            | Self::InvalidRequest(_)
            | Self::File { .. } => None,
        }
    }

    /// The status that the API answered, if it answered.
    pub fn status(&self) -> Option<u16> {
        self.refusal().map(|refusal| refusal.status)
    }
}

/// A text as it is, faults with their places.
fn describe(detail: &Value, status: u16) -> String {
    if let Some(text) = detail.as_str() {
        return text.to_owned();
    }
    let faults: Vec<String> = detail
        .as_array()
        .into_iter()
        .flatten()
        .map(|fault| {
            let steps = fault.get("loc").and_then(Value::as_array);
            let place: Vec<String> = steps
                .into_iter()
                .flatten()
                .map(|step| {
                    step.as_str()
                        .map_or_else(|| step.to_string(), str::to_owned)
                })
                .collect();
            let msg = fault.get("msg").and_then(Value::as_str).unwrap_or_default();
            format!("{}: {msg}", place.join("."))
        })
        .collect();
    if faults.is_empty() {
        format!("the service answered {status}")
    } else {
        faults.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_form_of_detail_has_a_message() {
        let text = ApiErrorAnswer::from_detail(401, json!("Invalid API key."));
        assert_eq!(text.to_string(), "Invalid API key. (401)");
        assert_eq!(text.class, "Unauthenticated");
        let coded = json!({"error": "quota_exceeded", "message": "Used up."});
        let coded = ApiErrorAnswer::from_detail(429, coded);
        assert_eq!(coded.to_string(), "Used up. (429, quota_exceeded)");
        assert_eq!(coded.class, "TokenQuotaExceeded");
        let fault = json!([{"type": "value_error", "loc": ["body", "params", 1], "msg": "no"}]);
        let faults = ApiErrorAnswer::from_detail(422, fault);
        assert_eq!(faults.message, "body.params.1: no");
        let unknown = ApiErrorAnswer::from_detail(418, Value::Null);
        assert_eq!(unknown.message, "the service answered 418");
    }
}
