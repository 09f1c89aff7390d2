//! A provider's error response, in its own format.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::provider::SimulatedProvider;

/// Why a call does not succeed.
#[derive(Debug)]
pub enum CallRejection {
    Refused(Box<SimulatedRefusal>),
    /// The connection is closed without an answer.
    Dropped,
}

#[derive(Debug, Clone)]
pub struct SimulatedRefusal {
    pub status: u16,
    pub message: String,
    /// The code or type, where the status does not determine it.
    pub code: Option<&'static str>,
    /// A code that only `OpenAI` sends.
    pub openai_code: Option<&'static str>,
    pub param: Option<String>,
    pub retry_after: Option<u32>,
    /// HTML from a proxy in front of the provider.
    pub is_html: bool,
}

impl From<SimulatedRefusal> for CallRejection {
    fn from(refusal: SimulatedRefusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl SimulatedRefusal {
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            code: None,
            openai_code: None,
            param: None,
            retry_after: None,
            is_html: false,
        }
    }

    pub fn not_found(what: &str, id: &str) -> Self {
        Self::new(404, format!("No such {what}: {id}"))
    }

    #[must_use]
    pub fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    #[must_use]
    pub fn openai_code(mut self, code: &'static str) -> Self {
        self.openai_code = Some(code);
        self
    }

    #[must_use]
    pub fn param(mut self, param: &str) -> Self {
        self.param = Some(param.to_owned());
        self
    }

    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub fn into_response(self, provider: SimulatedProvider, request_id: &str) -> Response {
        let (kind, body) = if self.is_html {
            let title = format!("{} Request Entity Too Large", self.status);
            let page = format!(
                "<html><head><title>{title}</title></head><body><center><h1>{title}</h1></center><hr><center>edge</center></body></html>"
            );
            ("text/html", page)
        } else {
            (
                "application/json",
                self.body(provider, request_id).to_string(),
            )
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        // Gemini sends it in the body only.
        if let Some(seconds) = self
            .retry_after
            .filter(|_| provider != SimulatedProvider::Gemini)
        {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    /// The JSON body. Results of single items contain it too.
    pub fn body(&self, provider: SimulatedProvider, request_id: &str) -> Value {
        match provider {
            SimulatedProvider::OpenAi => json!({"error": {
                "message": self.message,
                "type": self.openai_type(),
                "param": self.param,
                "code": self.code.or(self.openai_code),
            }}),
            SimulatedProvider::Server => json!({"error": {
                "message": self.message,
                "type": self.code.unwrap_or(match self.status {
                    400 => "BadRequestError",
                    404 => "NotFoundError",
                    503 => "ServiceUnavailableError",
                    _ => "InternalServerError",
                }),
                "param": self.param,
                "code": self.status,
            }}),
            SimulatedProvider::Anthropic => json!({
                "type": "error",
                "error": {"type": self.anthropic_type(), "message": self.message},
                "request_id": request_id,
            }),
            SimulatedProvider::Gemini => json!({"error": self.gemini_status()}),
        }
    }

    fn openai_type(&self) -> &'static str {
        match self.status {
            429 if self.openai_code == Some("insufficient_quota") => "insufficient_quota",
            429 => "requests",
            500.. => "server_error",
            _ => "invalid_request_error",
        }
    }

    pub fn anthropic_type(&self) -> &'static str {
        match self.status {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            409 => "conflict_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 => "timeout_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        }
    }

    fn gemini_status(&self) -> Value {
        let status = self.code.unwrap_or(match self.status {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            409 => "ABORTED",
            429 => "RESOURCE_EXHAUSTED",
            503 | 529 => "UNAVAILABLE",
            504 => "DEADLINE_EXCEEDED",
            500.. => "INTERNAL",
            _ => "INVALID_ARGUMENT",
        });
        let mut error = json!({"code": self.status, "message": self.message, "status": status});
        if let (Some(seconds), Some(error)) = (self.retry_after, error.as_object_mut()) {
            let details = json!([{
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": format!("{seconds}s"),
            }]);
            error.insert("details".to_owned(), details);
        }
        error
    }
}
