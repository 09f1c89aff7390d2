//! Validates the bodies of the group routes, and reports all errors at once.
//!
//! Bodies are small and flat. Unknown fields are ignored, and null counts as missing.

use std::collections::HashMap;

use axum::http::StatusCode;
use domain::callback_url::CallbackUrl;
use domain::cargo_group::GroupName;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::api_error::ApiError;
use crate::load_validation::LoadRules;
use crate::validation_errors::ValidationErrors;

const MAX_METADATA_BYTES: usize = 4096;

/// A valid request for a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupCreationRequest {
    pub(crate) name: Option<GroupName>,
    /// The text of a JSON object, unchanged.
    pub(crate) metadata: Option<Vec<u8>>,
    pub(crate) callback: Option<CallbackUrl>,
}

pub(crate) fn parse_create(
    body: &[u8],
    rules: &LoadRules,
) -> Result<GroupCreationRequest, ApiError> {
    let mut fields = GroupFields::parse(body)?;
    let requested = GroupCreationRequest {
        name: fields.read("name", parse_name),
        metadata: fields.read("metadata", parse_metadata),
        callback: fields.read("callback_url", |raw| parse_callback(raw, rules)),
    };
    fields.finish(requested)
}

/// The total that the caller expects.
pub(crate) fn parse_seal(body: &[u8]) -> Result<Option<u64>, ApiError> {
    let mut fields = GroupFields::parse(body)?;
    let total = fields.read("total", |raw| {
        serde_json::from_str(raw.get()).map_err(|_| {
            (
                "int_type",
                "Input should be a whole number, at least 0".into(),
            )
        })
    });
    fields.finish(total)
}

/// The type and the text of a validation error.
type FieldFault = (&'static str, String);

fn parse_name(raw: &RawValue) -> Result<GroupName, FieldFault> {
    let text = parse_text(raw)?;
    GroupName::new(&text).map_err(|fault| ("value_error", format!("Invalid name: {fault}")))
}

fn parse_callback(raw: &RawValue, rules: &LoadRules) -> Result<CallbackUrl, FieldFault> {
    let text = parse_text(raw)?;
    let url = rules.parse_callback_url(&text);
    url.map_err(|refusal| ("value_error", refusal.to_string()))
}

fn parse_text(raw: &RawValue) -> Result<String, FieldFault> {
    serde_json::from_str(raw.get())
        .map_err(|_| ("string_type", "Input should be a string".to_owned()))
}

/// The JSON text is stored unchanged, because the order of keys or a long number may matter to
/// the caller.
fn parse_metadata(raw: &RawValue) -> Result<Vec<u8>, FieldFault> {
    let json = raw.get();
    if !json.starts_with('{') {
        return Err(("object_type", "Input should be an object".to_owned()));
    }
    if json.len() > MAX_METADATA_BYTES {
        let text = format!("Input should be at most {MAX_METADATA_BYTES} bytes of JSON");
        return Err(("too_long", text));
    }
    Ok(json.as_bytes().to_vec())
}

/// The fields of a body, and the errors found so far.
#[derive(Debug)]
struct GroupFields<'b> {
    values: HashMap<String, &'b RawValue>,
    faults: ValidationErrors,
}

impl<'b> GroupFields<'b> {
    /// An empty body is read as `{}`.
    fn parse(body: &'b [u8]) -> Result<Self, ApiError> {
        let values = if body.trim_ascii().is_empty() {
            HashMap::new()
        } else {
            serde_json::from_slice(body).map_err(|error| not_an_object(body, &error))?
        };
        Ok(Self {
            values,
            faults: ValidationErrors::at(["body"]),
        })
    }

    fn read<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&RawValue) -> Result<T, FieldFault>,
    ) -> Option<T> {
        let given = self.values.get(name).copied();
        let given = given.filter(|value| value.get() != "null")?;
        match read(given) {
            Ok(value) => Some(value),
            Err((kind, text)) => {
                self.faults.add_at(name, kind, text);
                None
            }
        }
    }

    fn finish<T>(self, value: T) -> Result<T, ApiError> {
        self.faults
            .into_result(Some(value))
            .map_err(ApiError::validation)
    }
}

fn not_an_object(body: &[u8], error: &serde_json::Error) -> ApiError {
    if serde_json::from_slice::<IgnoredAny>(body).is_ok() {
        return ApiError::validation_at(["body"], "Input should be an object");
    }
    let detail = format!("The body is not JSON: {error}.");
    ApiError::with_text(StatusCode::BAD_REQUEST, detail)
}

#[cfg(test)]
mod tests {
    use domain::callback_url::AllowedSchemes;

    use super::*;

    const RULES: LoadRules = LoadRules {
        schemes: AllowedSchemes::HttpsOnly,
        allows_listeners: true,
        max_messages: 1,
        max_references: 1,
        max_stop_sequences: 1,
    };

    fn parse(body: &str) -> Result<GroupCreationRequest, ApiError> {
        parse_create(body.as_bytes(), &RULES)
    }

    #[test]
    fn a_callback_url_follows_the_rules_of_loads() {
        for (url, host) in [
            ("https://example.com/groups", "example.com:443"),
            ("listen://dev", "listen://dev"),
        ] {
            let read = parse(&format!(r#"{{"callback_url": "{url}"}}"#)).unwrap();
            assert_eq!(read.callback.unwrap().host(), host);
        }
        let plain = parse(r#"{"callback_url": "http://example.com/groups"}"#).unwrap_err();
        assert_eq!(plain.status(), StatusCode::UNPROCESSABLE_ENTITY);
    }

    #[test]
    fn every_field_is_optional() {
        for nothing in [
            "",
            "{}",
            r#"{"name": null, "metadata": null, "callback_url": null, "x": 1}"#,
        ] {
            let read = parse(nothing).unwrap();
            assert_eq!(
                (read.name, read.metadata, read.callback),
                (None, None, None)
            );
        }
        let read = parse(r#"{"name": "run:1", "metadata": {"z": 1,  "a": 2}}"#).unwrap();
        assert_eq!(read.name.unwrap().as_str(), "run:1");
        assert_eq!(read.metadata.unwrap(), br#"{"z": 1,  "a": 2}"#);
        assert_eq!(parse_seal(b"").unwrap(), None);
        assert_eq!(parse_seal(br#"{"total": 7}"#).unwrap(), Some(7));
    }

    #[test]
    fn all_faults_are_reported() {
        let wrong = r#"{"name": "a b", "metadata": [], "callback_url": "example.com"}"#;
        let error = parse(wrong).unwrap_err();
        assert_eq!(error.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let body = serde_json::to_value(error.into_body()).unwrap();
        let faults = body["detail"].as_array().unwrap();
        let places: Vec<_> = faults.iter().map(|it| &it["loc"][1]).collect();
        assert_eq!(places, ["name", "metadata", "callback_url"]);
        for wrong in ["-1", "1.5", "\"1\""] {
            let body = format!("{{\"total\": {wrong}}}");
            let error = parse_seal(body.as_bytes()).unwrap_err();
            assert_eq!(error.status(), StatusCode::UNPROCESSABLE_ENTITY);
        }
        assert_eq!(
            parse_seal(b"{").unwrap_err().status(),
            StatusCode::BAD_REQUEST
        );
        let list = parse_seal(b"[]").unwrap_err();
        assert_eq!(list.status(), StatusCode::UNPROCESSABLE_ENTITY);
    }
}
