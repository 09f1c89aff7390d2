//! The one way to say no: a status and `{"detail": …}`.
//!
//! What went wrong inside rides along as the cause, for our log only.

use std::borrow::Cow;
use std::error::Error;
use std::future::{Ready, ready};
use std::sync::Arc;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use wire::detail::{Coded, Detail, Fault, Refusal, Step};

mod files;

mod from;

pub use files::FileProblem;

/// A no, ready to be sent.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    /// Boxed, for a problem is the rare end of many results.
    refusal: Box<Refusal>,
    headers: Vec<(HeaderName, HeaderValue)>,
    cause: Option<Cause>,
}

/// Our own failure behind an answer. It is in the response's extensions, never in its body.
#[derive(Debug, Clone)]
pub struct Cause(pub Arc<dyn Error + Send + Sync>);

impl Problem {
    pub fn text(status: StatusCode, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(status, Detail::Text(detail.into()))
    }

    /// `error` is for programs, `message` for people.
    pub fn coded(status: StatusCode, error: &'static str, message: impl Into<String>) -> Self {
        let coded = Coded {
            error,
            message: message.into(),
            more: Map::new(),
        };
        Self::new(status, Detail::Coded(coded))
    }

    pub fn faults(faults: Vec<Fault>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, Detail::Faults(faults))
    }

    /// One fault, at a place like `["header", "idempotency-key"]`.
    pub fn fault<const STEPS: usize>(
        place: [&'static str; STEPS],
        msg: impl Into<Cow<'static, str>>,
    ) -> Self {
        let loc = place.map(Step::Key).to_vec();
        Self::faults(vec![Fault {
            kind: "value_error",
            loc,
            msg: msg.into(),
        }])
    }

    /// 503: another try may go well.
    pub fn unavailable(detail: impl Into<Cow<'static, str>>, retry_after_seconds: u32) -> Self {
        Self::text(StatusCode::SERVICE_UNAVAILABLE, detail)
            .header(RETRY_AFTER, HeaderValue::from(retry_after_seconds))
    }

    /// 500: the body says nothing of the cause.
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::text(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error").because(cause)
    }

    pub fn cargo_not_found() -> Self {
        Self::text(StatusCode::NOT_FOUND, "Cargo not found")
    }

    pub fn too_large(most_bytes: usize) -> Self {
        let detail = format!("The request body is larger than {most_bytes} bytes.");
        Self::text(StatusCode::PAYLOAD_TOO_LARGE, detail)
    }

    pub fn idempotency_key_reused() -> Self {
        let message = "This Idempotency-Key was used with another body in the last 24 hours.";
        Self::coded(StatusCode::CONFLICT, "idempotency_key_reused", message)
    }

    /// Another field of a coded detail.
    #[must_use]
    pub fn with(mut self, field: &'static str, value: impl Into<Value>) -> Self {
        if let Detail::Coded(coded) = &mut self.refusal.detail {
            coded.more.insert(field.to_owned(), value.into());
        }
        self
    }

    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(Cause(Arc::from(cause.into())));
        self
    }

    pub const fn status(&self) -> StatusCode {
        self.status
    }

    pub fn into_refusal(self) -> Refusal {
        *self.refusal
    }

    /// Everything but the body, which is given.
    fn respond(self, body: &impl Serialize) -> Response {
        // Texts, numbers and keys that are strings: this cannot fail.
        let body = serde_json::to_vec(body).unwrap_or_default();
        let json = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut response = (self.status, [json], body).into_response();
        response.headers_mut().extend(self.headers);
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(cause);
        }
        response
    }

    fn new(status: StatusCode, detail: Detail) -> Self {
        Self {
            status,
            refusal: Box::new(Refusal { detail }),
            headers: Vec::new(),
            cause: None,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(mut self) -> Response {
        let nothing = Detail::Faults(Vec::new());
        let detail = std::mem::replace(&mut self.refusal.detail, nothing);
        self.respond(&Refusal { detail })
    }
}

/// What no route answers.
pub fn not_found() -> Ready<Problem> {
    ready(Problem::text(StatusCode::NOT_FOUND, "Not Found"))
}

/// What a route answers to another method.
pub fn method_not_allowed() -> Ready<Problem> {
    ready(Problem::text(
        StatusCode::METHOD_NOT_ALLOWED,
        "Method Not Allowed",
    ))
}

#[cfg(test)]
mod tests;
