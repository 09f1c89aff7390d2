//! Parses and validates the body of a load in one pass, and reports all errors.
//!
//! A body that is not JSON gets 400, and JSON that is not a load gets 422. Whether the
//! model exists and supports the request is decided by [`domain::admission`].

use axum::http::StatusCode;
use domain::callback_url::{AllowedSchemes, CallbackUrl};
use domain::params::Params;
use serde::de::{DeserializeSeed as _, IgnoredAny};
use serde_json::Deserializer;

use crate::api_error::ApiError;
use crate::validation_errors::ValidationErrors;

mod body;
mod messages;
mod params;
mod reader;
mod values;

/// The limits of this installation on a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoadRules {
    pub schemes: AllowedSchemes,
    pub max_messages: usize,
    pub max_references: usize,
    pub max_stop_sequences: usize,
}

/// A load that passed validation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValidLoad {
    pub params: Params,
    pub callback: Option<CallbackUrl>,
    /// The text of a JSON object, unchanged.
    pub metadata: Option<String>,
}

pub(crate) fn parse_load(body: &[u8], rules: &LoadRules) -> Result<ValidLoad, ApiError> {
    let text = std::str::from_utf8(body).map_err(|error| {
        let byte = error.valid_up_to();
        bad_request(format!("The body is not valid UTF-8 at byte {byte}."))
    })?;
    let mut faults = ValidationErrors::at(["body"]);
    let mut json = Deserializer::from_str(text);
    let seed = reader::ReaderSeed(body::LoadBodyReader {
        faults: &mut faults,
        rules,
    });
    let value = seed
        .deserialize(&mut json)
        .and_then(|value| json.end().map(|()| value));
    let value = value.map_err(|error| json_error(text, &error))?;
    let load = value.required_here(&mut faults, reader::NOT_AN_OBJECT);
    faults.into_result(load).map_err(ApiError::validation)
}

fn json_error(text: &str, error: &serde_json::Error) -> ApiError {
    // Valid JSON can have values that Rust cannot represent: half a surrogate pair, 1e999.
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return bad_request(format!("The body is not JSON: {error}."));
    }
    ApiError::validation_at(["body"], format!("A value cannot be read: {error}"))
}

fn bad_request(detail: String) -> ApiError {
    ApiError::with_text(StatusCode::BAD_REQUEST, detail)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod properties;
