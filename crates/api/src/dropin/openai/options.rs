//! What a request sets for the whole batch. It is stored with the batch.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api_error::OpenAiApiError;
use crate::dropin::openai::endpoint::Endpoint;
use crate::dropin::openai::request::ConversionDefaults;

/// As `OpenAI` limits them.
const MAX_METADATA_PAIRS: usize = 16;
const MAX_METADATA_KEY: usize = 64;
const MAX_METADATA_VALUE: usize = 512;
/// The window of `24h`.
const MAX_WINDOW_HOURS: i64 = 24;
const MIN_EXPIRY_SECONDS: u64 = 3_600;
const MAX_EXPIRY_SECONDS: u64 = 2_592_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BatchOptions {
    pub(crate) endpoint: String,
    pub(crate) completion_window: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Map<String, Value>>,
    /// Where each result is sent, too. An extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) callback_url: Option<String>,
    /// The end of a window of less than a day, as a load names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deadline_at: Option<String>,
    #[serde(default)]
    pub(crate) defaults: ConversionDefaults,
}

impl BatchOptions {
    /// None if they are gone: the retention deleted them.
    pub(crate) fn read(stored: Option<&[u8]>) -> Option<Self> {
        serde_json::from_slice(stored?).ok()
    }

    pub(crate) fn endpoint(&self) -> Option<Endpoint> {
        Endpoint::parse(&self.endpoint)
    }
}

/// The body of `POST /batches`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BatchRequest {
    pub(crate) input_file_id: String,
    pub(crate) endpoint: Endpoint,
    pub(crate) window: TimeDelta,
    pub(crate) options: BatchOptions,
}

pub(crate) fn parse_batch_request(body: &[u8]) -> Result<BatchRequest, OpenAiApiError> {
    let parsed = serde_json::from_slice::<Map<String, Value>>(body);
    let mut fields = parsed.map_err(|error| {
        let message = format!("The body is not a JSON object: {error}.");
        OpenAiApiError::invalid(None, "invalid_json", message)
    })?;
    let input_file_id = required_text(&mut fields, "input_file_id")?;
    let endpoint_name = required_text(&mut fields, "endpoint")?;
    let endpoint = Endpoint::parse(&endpoint_name).ok_or_else(|| {
        let names = Endpoint::ALL.map(Endpoint::as_str).join(", ");
        let message = format!("Unsupported endpoint. Supported are {names}.");
        OpenAiApiError::invalid(Some("endpoint"), "invalid_endpoint", message)
    })?;
    let completion_window = required_text(&mut fields, "completion_window")?;
    let window = parse_window(&completion_window).ok_or_else(|| {
        let message = "The completion window is 24h, or a number of hours from 1h to 23h.";
        OpenAiApiError::invalid(Some("completion_window"), "invalid_value", message)
    })?;
    let metadata = take(&mut fields, "metadata")
        .map(check_metadata)
        .transpose()?;
    // Results are kept by the retention of the project, never shorter than asked for.
    if let Some(expiry) = take(&mut fields, "output_expires_after") {
        check_expiry(&expiry)?;
    }
    let callback_url = optional_text(&mut fields, "callback_url")?;
    if let Some(name) = fields.into_iter().find(|(_, it)| !it.is_null()) {
        let message = format!("Unknown parameter: '{}'.", name.0);
        return Err(OpenAiApiError::invalid(
            Some(&name.0),
            "unknown_parameter",
            message,
        ));
    }
    Ok(BatchRequest {
        input_file_id,
        endpoint,
        window,
        options: BatchOptions {
            endpoint: endpoint_name,
            completion_window,
            metadata,
            callback_url,
            deadline_at: None,
            defaults: ConversionDefaults::default(),
        },
    })
}

fn take(fields: &mut Map<String, Value>, name: &str) -> Option<Value> {
    fields.remove(name).filter(|value| !value.is_null())
}

fn optional_text(
    fields: &mut Map<String, Value>,
    name: &'static str,
) -> Result<Option<String>, OpenAiApiError> {
    let Some(value) = take(fields, name) else {
        return Ok(None);
    };
    let text = value.as_str().map(str::to_owned);
    let fault = || {
        let message = format!("Invalid type for '{name}': expected a string.");
        OpenAiApiError::invalid(Some(name), "invalid_type", message)
    };
    text.ok_or_else(fault).map(Some)
}

fn required_text(
    fields: &mut Map<String, Value>,
    name: &'static str,
) -> Result<String, OpenAiApiError> {
    optional_text(fields, name)?.ok_or_else(|| OpenAiApiError::missing(name))
}

fn parse_window(text: &str) -> Option<TimeDelta> {
    let hours: i64 = text.strip_suffix('h')?.parse().ok()?;
    let is_plain = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_digit());
    let is_valid = is_plain && (1..=MAX_WINDOW_HOURS).contains(&hours);
    is_valid.then(|| TimeDelta::hours(hours))
}

fn check_metadata(value: Value) -> Result<Map<String, Value>, OpenAiApiError> {
    let fault = |message: &str| {
        OpenAiApiError::invalid(Some("metadata"), "invalid_value", message.to_owned())
    };
    let Value::Object(pairs) = value else {
        return Err(fault("metadata is an object."));
    };
    if pairs.len() > MAX_METADATA_PAIRS {
        return Err(fault("metadata has at most 16 pairs."));
    }
    let is_valid = |(key, value): (&String, &Value)| {
        let length = value.as_str().map(|text| text.chars().count());
        key.chars().count() <= MAX_METADATA_KEY
            && length.is_some_and(|length| length <= MAX_METADATA_VALUE)
    };
    if !pairs.iter().all(is_valid) {
        let message = "metadata has keys of at most 64 characters and strings of at most 512.";
        return Err(fault(message));
    }
    Ok(pairs)
}

fn check_expiry(expiry: &Value) -> Result<(), OpenAiApiError> {
    let anchor = expiry.get("anchor").and_then(Value::as_str);
    let seconds = expiry.get("seconds").and_then(Value::as_u64);
    if anchor == Some("created_at") && seconds.and_then(checked_expiry).is_some() {
        return Ok(());
    }
    Err(invalid_expiry("output_expires_after"))
}

/// The seconds after which a file expires, if they are within `OpenAI`'s limits.
pub(crate) fn checked_expiry(seconds: u64) -> Option<TimeDelta> {
    let is_valid = (MIN_EXPIRY_SECONDS..=MAX_EXPIRY_SECONDS).contains(&seconds);
    let seconds = i64::try_from(seconds).ok().filter(|_| is_valid)?;
    Some(TimeDelta::seconds(seconds))
}

pub(crate) fn invalid_expiry(param: &'static str) -> OpenAiApiError {
    let message = format!(
        "{param} has the anchor created_at and {MIN_EXPIRY_SECONDS} to {MAX_EXPIRY_SECONDS} \
         seconds."
    );
    OpenAiApiError::invalid(Some(param), "invalid_value", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_whole_hours_of_a_day() {
        assert_eq!(parse_window("24h"), Some(TimeDelta::hours(24)));
        assert_eq!(parse_window("1h"), Some(TimeDelta::hours(1)));
        for wrong in [
            "", "h", "0h", "25h", "1", "24 h", "+1h", "-1h", "1d", "1.5h",
        ] {
            assert_eq!(parse_window(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_request_says_which_field_is_wrong() {
        let valid = serde_json::json!({
            "input_file_id": "file-1", "endpoint": "/v1/embeddings", "completion_window": "2h",
            "metadata": {"run": "7"}, "output_expires_after": {"anchor": "created_at", "seconds": 3600},
        });
        let request = parse_batch_request(valid.to_string().as_bytes());
        let request = request.map_err(|error| error.param()).unwrap();
        assert_eq!(request.endpoint, Endpoint::Embeddings);
        assert_eq!(request.window, TimeDelta::hours(2));
        for (name, value) in [
            ("input_file_id", serde_json::json!(null)),
            ("endpoint", serde_json::json!("/v1/images")),
            ("completion_window", serde_json::json!("2d")),
            ("metadata", serde_json::json!({"a": 1})),
            ("output_expires_after", serde_json::json!({"seconds": 1})),
            ("priority", serde_json::json!(1)),
        ] {
            let mut changed = valid.clone();
            changed[name] = value;
            let refused = parse_batch_request(changed.to_string().as_bytes());
            let param = refused.map_err(|error| error.param()).unwrap_err();
            assert_eq!(param.as_deref(), Some(name));
        }
    }
}
