//! Reads the API's response to a load.

use axum::response::Response;
use http::header::RETRY_AFTER;
use http_body_util::{BodyExt as _, Collected, Limited};
use serde_json::Value;

const MAX_RESPONSE_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(crate) enum LoadResult {
    /// The id of the cargo.
    Loaded(String),
    Rejected(RejectedLoad),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RejectedLoad {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// The path of each invalid field, and the message.
    pub(crate) field_errors: Vec<(String, String)>,
}

pub(crate) async fn read_response(response: Response) -> LoadResult {
    let status = response.status();
    let after = response.headers().get(RETRY_AFTER);
    let after = after.and_then(|it| it.to_str().ok()).map(str::to_owned);
    let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES)
        .collect()
        .await;
    let body = body.map(Collected::to_bytes).unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let id = body.get("cargo_id").and_then(Value::as_str);
    match id.filter(|_| status.is_success()) {
        Some(id) => LoadResult::Loaded(id.to_owned()),
        None => LoadResult::Rejected(parse_rejection(status.as_u16(), &body, after.as_deref())),
    }
}

fn parse_rejection(status: u16, body: &Value, after: Option<&str>) -> RejectedLoad {
    let detail = body.get("detail").unwrap_or(&Value::Null);
    let coded = detail.get("message").and_then(Value::as_str);
    let mut message = match (detail.as_str().or(coded), status) {
        // The form was sent twice with different content.
        (_, 409) => "This form was already submitted with different content. The cargo list shows \
             what was loaded. Open a new form to load another cargo."
            .to_owned(),
        (Some(text), _) => text.to_owned(),
        (None, 422) => "The request is invalid:".to_owned(),
        (None, _) => "The API rejected the request.".to_owned(),
    };
    if let Some(seconds) = after {
        message = format!("{message} Retry in {seconds} s.");
    }
    let faults = detail.as_array().map(Vec::as_slice).unwrap_or_default();
    RejectedLoad {
        status,
        message,
        field_errors: faults.iter().map(field_error).collect(),
    }
}

fn field_error(fault: &Value) -> (String, String) {
    let steps = fault.get("loc").and_then(Value::as_array);
    let steps = steps.map(Vec::as_slice).unwrap_or_default().iter().skip(1);
    let path: Vec<String> = steps
        .map(|step| match step.as_str() {
            Some(key) => key.to_owned(),
            None => step.to_string(),
        })
        .collect();
    let msg = fault
        .get("msg")
        .and_then(Value::as_str)
        .unwrap_or("invalid");
    (path.join(" › "), msg.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_rejection_reads_well() {
        let refusals = [
            parse_rejection(
                402,
                &json!({"detail": {"error": "x", "message": "No credit."}}),
                None,
            ),
            parse_rejection(429, &json!({"detail": "Slow down."}), Some("3")),
            parse_rejection(
                422,
                &json!({"detail": [{"loc": ["body", "params", "messages", 0], "msg": "m"}]}),
                None,
            ),
            parse_rejection(500, &json!("?"), None),
        ];
        let lines: Vec<String> = refusals
            .iter()
            .map(|it| format!("{} {} {:?}", it.status, it.message, it.field_errors))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        402 No credit. []
        429 Slow down. Retry in 3 s. []
        422 The request is invalid: [("params › messages › 0", "m")]
        500 The API rejected the request. []
        "#);
    }
}
