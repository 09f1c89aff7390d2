//! The body of an answer.

use std::time::Duration;

use axum::http::StatusCode;
use domain::id::HandoverId;
use serde_json::{Map, Value};
use store::shard::handover::HandoverAnswer;

use crate::api_error::ApiError;
use crate::validation_errors::ValidationErrors;

/// As much as is kept of the answer to any other callback.
const MAX_EXCERPT_BYTES: usize = 1024;
const MAX_ERROR_CHARS: usize = 200;
const REDIRECT_ERROR: &str = "redirects are not followed";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedAnswer {
    /// None if the text is no id.
    pub(crate) delivery: Option<HandoverId>,
    pub(crate) answer: HandoverAnswer,
}

pub(crate) fn parse_answer(body: &[u8]) -> Result<ParsedAnswer, ApiError> {
    let body: Value = serde_json::from_slice(body).map_err(|error| {
        let detail = format!("The body is not JSON: {error}.");
        ApiError::with_text(StatusCode::BAD_REQUEST, detail)
    })?;
    let mut faults = ValidationErrors::at(["body"]);
    let parsed = if let Some(fields) = body.as_object() {
        read_fields(fields, &mut faults)
    } else {
        faults.add("object_type", "Input should be an object");
        None
    };
    faults.into_result(parsed).map_err(ApiError::validation)
}

fn read_fields(fields: &Map<String, Value>, faults: &mut ValidationErrors) -> Option<ParsedAnswer> {
    let of_field = |name: &str| fields.get(name).filter(|value| !value.is_null());
    let delivery = of_field("delivery_id").and_then(Value::as_str);
    if delivery.is_none() {
        faults.add_at("delivery_id", "missing", "Field required");
    }
    let status = read_status(of_field("status"), faults);
    let mut text = |name: &'static str| {
        let value = of_field(name);
        if value.is_some_and(|value| !value.is_string()) {
            faults.add_at(name, "string_type", "Input should be a string");
        }
        value.and_then(Value::as_str)
    };
    let (error, excerpt) = (text("error"), text("body").unwrap_or_default());
    let latency = of_field("latency_ms").map(read_milliseconds);
    if latency == Some(None) {
        let msg = "latency_ms should be a number of milliseconds";
        faults.add_at("latency_ms", "value_error", msg);
    }
    if status.is_none() && error.is_none() {
        faults.add_at("status", "missing", "status or error is required");
    }
    let is_redirect = status.is_some_and(|status| (300..400).contains(&status))
        && has_location(of_field("headers"));
    let error = error.or(is_redirect.then_some(REDIRECT_ERROR));
    let excerpt = excerpt.as_bytes();
    Some(ParsedAnswer {
        delivery: delivery?.parse().ok(),
        answer: HandoverAnswer {
            status,
            // The database stores no NUL in a text.
            error: error.map(|it| it.replace('\0', "").chars().take(MAX_ERROR_CHARS).collect()),
            latency: latency.flatten(),
            excerpt: excerpt.get(..MAX_EXCERPT_BYTES).unwrap_or(excerpt).to_vec(),
        },
    })
}

fn read_status(field: Option<&Value>, faults: &mut ValidationErrors) -> Option<u16> {
    let field = field?;
    let status = field.as_u64().and_then(|it| u16::try_from(it).ok());
    let status = status.filter(|it| (100..600).contains(it));
    if status.is_none() {
        let msg = "status should be an HTTP status from 100 to 599";
        faults.add_at("status", "value_error", msg);
    }
    status
}

/// Clients may measure fractions.
fn read_milliseconds(value: &Value) -> Option<Duration> {
    let seconds = value.as_f64()? / 1000.0;
    Duration::try_from_secs_f64(seconds).ok()
}

fn has_location(headers: Option<&Value>) -> bool {
    let names = headers.and_then(Value::as_object);
    names.is_some_and(|it| it.keys().any(|name| name.eq_ignore_ascii_case("location")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "dlv_019b76da807b774b805000000000002a";

    fn parse(body: &Value) -> Result<ParsedAnswer, u16> {
        let parsed = parse_answer(body.to_string().as_bytes());
        parsed.map_err(|refused| refused.status().as_u16())
    }

    #[test]
    fn an_answer_has_a_status_or_an_error() {
        let body = json!({"delivery_id": ID, "status": 200, "body": "ok", "latency_ms": 12});
        let answer = HandoverAnswer {
            status: Some(200),
            error: None,
            latency: Some(Duration::from_millis(12)),
            excerpt: b"ok".to_vec(),
        };
        let parsed = parse(&body).unwrap();
        assert_eq!(parsed.delivery.unwrap().to_string(), ID);
        assert_eq!(parsed.answer, answer);
        let refused = parse(&json!({"delivery_id": ID, "error": "connection refused"}));
        let refused = refused.unwrap().answer.error;
        assert_eq!(refused.as_deref(), Some("connection refused"));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for body in [
            json!([]),
            json!({"status": 200}),
            json!({"delivery_id": ID}),
            json!({"delivery_id": ID, "status": 99}),
            json!({"delivery_id": ID, "status": "200"}),
            json!({"delivery_id": ID, "status": 200, "body": 7}),
            json!({"delivery_id": ID, "status": 200, "latency_ms": -1}),
        ] {
            assert_eq!(parse(&body), Err(422), "{body}");
        }
        assert!(parse_answer(b"{").is_err());
    }

    #[test]
    fn long_texts_are_cut_and_redirects_are_failures() {
        let long = "x".repeat(5000);
        let body = json!({"delivery_id": ID, "status": 200, "body": long, "error": long});
        let answer = parse(&body).unwrap().answer;
        assert_eq!(
            (answer.excerpt.len(), answer.error.unwrap().len()),
            (1024, 200)
        );
        let headers = json!({"Location": "/elsewhere"});
        let body = json!({"delivery_id": ID, "status": 302, "headers": headers});
        let error = parse(&body).unwrap().answer.error;
        assert_eq!(error.as_deref(), Some(REDIRECT_ERROR));
    }
}
