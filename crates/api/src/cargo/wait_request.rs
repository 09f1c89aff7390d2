//! The body of `POST /cargo/wait`.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::Value;
use wire::error_body::LocationStep;

use crate::api_error::{ApiError, ErrorCode};
use crate::validation_errors::ValidationErrors;
use crate::wait_query::{INVALID_WAIT, MAX_WAIT_SECONDS};

pub(crate) const MAX_CARGO_IDS: usize = 1000;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CargoWait {
    /// As the caller wrote them: some may be no ids.
    pub(crate) cargo_ids: Vec<String>,
    pub(crate) duration: Duration,
}

pub(crate) fn parse_cargo_wait(body: &[u8]) -> Result<CargoWait, ApiError> {
    let body: Value = serde_json::from_slice(body).map_err(|error| {
        let detail = format!("The body is not JSON: {error}.");
        ApiError::with_text(StatusCode::BAD_REQUEST, detail)
    })?;
    let mut faults = ValidationErrors::at(["body"]);
    let Some(fields) = body.as_object() else {
        faults.add("object_type", "Input should be an object");
        let none: Option<CargoWait> = None;
        return faults.into_result(none).map_err(ApiError::validation);
    };
    let of_field = |name: &str| fields.get(name).filter(|value| !value.is_null());
    let cargo_ids = read_ids(of_field("cargo_ids"), &mut faults);
    let duration = read_wait(of_field("wait"), &mut faults);
    let wait = faults.into_result(duration.map(|duration| CargoWait {
        cargo_ids,
        duration,
    }));
    let wait = wait.map_err(ApiError::validation)?;
    if wait.cargo_ids.len() > MAX_CARGO_IDS {
        return Err(too_many_ids());
    }
    Ok(wait)
}

pub(crate) fn too_many_ids() -> ApiError {
    let message =
        format!("A request can name at most {MAX_CARGO_IDS} cargo. Send several requests.");
    ApiError::with_code(ErrorCode::TooManyItems, message).with_field("max_items", MAX_CARGO_IDS)
}

fn read_ids(field: Option<&Value>, faults: &mut ValidationErrors) -> Vec<String> {
    let name = "cargo_ids";
    let Some(field) = field else {
        faults.add_at(name, "missing", "Field required");
        return Vec::new();
    };
    let Some(items) = field.as_array() else {
        faults.add_at(name, "list_type", "Input should be a list of cargo ids");
        return Vec::new();
    };
    if items.is_empty() {
        faults.add_at(name, "too_short", "Input should have at least one cargo id");
    }
    let mut ids = Vec::with_capacity(items.len());
    faults.within(LocationStep::key(name), |faults| {
        for (index, item) in items.iter().enumerate() {
            if let Some(id) = item.as_str() {
                ids.push(id.to_owned());
            } else {
                faults.within(LocationStep::Index(index), |faults| {
                    faults.add("string_type", "Input should be a cargo id");
                });
            }
        }
    });
    ids
}

fn read_wait(field: Option<&Value>, faults: &mut ValidationErrors) -> Option<Duration> {
    let most = u64::from(MAX_WAIT_SECONDS);
    let seconds = field.map_or(Some(most), Value::as_u64);
    let seconds = seconds.filter(|seconds| *seconds <= most);
    if seconds.is_none() {
        faults.add_at("wait", "value_error", INVALID_WAIT);
    }
    seconds.map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(body: &Value) -> Result<CargoWait, String> {
        let parsed = parse_cargo_wait(body.to_string().as_bytes());
        parsed.map_err(|wrong| serde_json::to_string(&wrong.into_body()).unwrap())
    }

    #[test]
    fn a_wait_names_cargo_and_seconds() {
        let wait = |seconds| CargoWait {
            cargo_ids: vec!["a".to_owned()],
            duration: Duration::from_secs(seconds),
        };
        assert_eq!(parse(&json!({"cargo_ids": ["a"]})), Ok(wait(60)));
        let body = json!({"cargo_ids": ["a"], "wait": 0, "other": 1});
        assert_eq!(parse(&body), Ok(wait(0)));
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        let body = json!({"cargo_ids": ["a", 7], "wait": 61});
        insta::assert_snapshot!(parse(&body).unwrap_err(), @r#"{"detail":[{"type":"string_type","loc":["body","cargo_ids",1],"msg":"Input should be a cargo id"},{"type":"value_error","loc":["body","wait"],"msg":"wait should be a whole number of seconds from 0 to 60"}]}"#);
        for wrong in [json!([]), json!({}), json!({"cargo_ids": []})] {
            assert!(parse(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn too_many_cargo_are_refused() {
        let wait = |count| parse(&json!({"cargo_ids": vec!["a"; count]}));
        assert!(wait(MAX_CARGO_IDS).is_ok());
        assert!(
            wait(MAX_CARGO_IDS + 1)
                .unwrap_err()
                .contains("too_many_items")
        );
    }
}
