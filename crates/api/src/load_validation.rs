//! Parses and validates the body of a load in one pass, and reports all errors.
//!
//! A body that is not JSON gets 400, and JSON that is not a load gets 422. Whether the
//! model exists and supports the request is decided by [`domain::admission`].

use axum::http::StatusCode;
use domain::callback_url::{AllowedSchemes, CallbackUrl, CallbackUrlRefusal};
use domain::load_warning::LoadWarning;
use domain::params::Params;
use serde::de::{DeserializeSeed as _, IgnoredAny};
use serde_json::Deserializer;

use crate::api_error::ApiError;
use crate::validation_errors::ValidationErrors;

mod beside_params;
mod block_fields;
mod block_kind;
mod blocks;
mod body;
mod cache_control;
mod chat_extensions;
mod deadline;
mod json_value;
mod membership;
mod messages;
mod names;
mod nested_vendor_fields;
mod output_config;
mod params;
mod params_vendor_fields;
mod provider_options;
mod reader;
mod system;
mod thinking;
mod tools;
mod unknown_fields;
mod values;
mod vendor_fields;

pub(crate) use crate::load_validation::deadline::RequestedDeadline;
pub(crate) use crate::load_validation::membership::RequestedMembership;

/// The limits of this installation on a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoadRules {
    pub schemes: AllowedSchemes,
    /// Whether `listen://NAME` is a callback URL.
    pub allows_listeners: bool,
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
    pub deadline: Option<RequestedDeadline>,
    pub membership: Option<RequestedMembership>,
    /// Fields that have no effect.
    pub warnings: Vec<LoadWarning>,
}

impl LoadRules {
    pub(crate) fn parse_callback_url(&self, text: &str) -> Result<CallbackUrl, CallbackUrlRefusal> {
        if self.allows_listeners {
            CallbackUrl::parse_with_listeners(text, self.schemes)
        } else {
            CallbackUrl::parse(text, self.schemes)
        }
    }
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
    let warnings = faults.take_warnings();
    let load = load.map(|load| ValidLoad { warnings, ..load });
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
mod extension_tests;

#[cfg(test)]
mod unknown_field_tests;

#[cfg(test)]
mod json_budget_tests;

#[cfg(test)]
mod properties;
