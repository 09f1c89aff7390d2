//! What the API says no with, read for people.

use axum::response::Response;
use http::header::RETRY_AFTER;
use http_body_util::{BodyExt as _, Collected, Limited};
use serde_json::Value;

const LARGEST: usize = 1 << 20;

#[derive(Debug)]
pub(crate) enum Answer {
    /// The id of the cargo.
    Loaded(String),
    Refused(Refused),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// Where, and what is wrong there.
    pub(crate) faults: Vec<(String, String)>,
}

pub(crate) async fn read(response: Response) -> Answer {
    let status = response.status();
    let after = response.headers().get(RETRY_AFTER);
    let after = after.and_then(|it| it.to_str().ok()).map(str::to_owned);
    let body = Limited::new(response.into_body(), LARGEST).collect().await;
    let body = body.map(Collected::to_bytes).unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let id = body.get("cargo_id").and_then(Value::as_str);
    match id.filter(|_| status.is_success()) {
        Some(id) => Answer::Loaded(id.to_owned()),
        None => Answer::Refused(refused(status.as_u16(), &body, after.as_deref())),
    }
}

fn refused(status: u16, body: &Value, after: Option<&str>) -> Refused {
    let detail = body.get("detail").unwrap_or(&Value::Null);
    let coded = detail.get("message").and_then(Value::as_str);
    let mut message = match (detail.as_str().or(coded), status) {
        // Its own form was sent a second time.
        (_, 409) => "This form was sent before, with something else in it. Go back to the list: \
             what was loaded is there. To load another, open a new form."
            .to_owned(),
        (Some(text), _) => text.to_owned(),
        (None, 422) => "The API cannot take this yet:".to_owned(),
        (None, _) => "The API refused it.".to_owned(),
    };
    if let Some(seconds) = after {
        message = format!("{message} Try again in {seconds} s.");
    }
    let faults = detail.as_array().map(Vec::as_slice).unwrap_or_default();
    Refused {
        status,
        message,
        faults: faults.iter().map(fault).collect(),
    }
}

fn fault(fault: &Value) -> (String, String) {
    let steps = fault.get("loc").and_then(Value::as_array);
    let steps = steps.map(Vec::as_slice).unwrap_or_default().iter().skip(1);
    let place: Vec<String> = steps
        .map(|step| match step.as_str() {
            Some(key) => key.to_owned(),
            None => step.to_string(),
        })
        .collect();
    let msg = fault.get("msg").and_then(Value::as_str).unwrap_or("wrong");
    (place.join(" › "), msg.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_refusal_reads_well() {
        let told = [
            refused(
                402,
                &json!({"detail": {"error": "x", "message": "No credit."}}),
                None,
            ),
            refused(429, &json!({"detail": "Slow down."}), Some("3")),
            refused(
                422,
                &json!({"detail": [{"loc": ["body", "params", "messages", 0], "msg": "m"}]}),
                None,
            ),
            refused(500, &json!("?"), None),
        ];
        let told: Vec<String> = told
            .iter()
            .map(|it| format!("{} {} {:?}", it.status, it.message, it.faults))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        402 No credit. []
        429 Slow down. Try again in 3 s. []
        422 The API cannot take this yet: [("params › messages › 0", "m")]
        500 The API refused it. []
        "#);
    }
}
