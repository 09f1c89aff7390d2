//! Validates the bodies and queries of the Files routes, and reports all errors at once.
//!
//! Bodies are small and flat, so each field is read separately. Unknown fields are
//! ignored, and null counts as missing.

mod change;
mod complete;
mod create;
mod query;
mod refresh;
#[cfg(test)]
mod tests;
mod values;

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::api_error::FileApiError;

pub(crate) use change::parse_change;
pub(crate) use complete::parse_complete;
pub(crate) use create::{UploadSessionRequest, parse_create};
pub(crate) use query::{parse_force, parse_list_query};
pub(crate) use refresh::parse_refresh;

/// The error of a value without the field's name: `should be …`.
type FieldMessage = Cow<'static, str>;

/// More errors do not help the caller.
const MAX_REPORTED_ERRORS: usize = 20;

/// The fields of a body, and the errors found so far.
#[derive(Debug)]
struct BodyFields<'b> {
    values: HashMap<String, &'b RawValue>,
    errors: Vec<String>,
}

impl<'b> BodyFields<'b> {
    /// An empty body is read as `{}`.
    fn parse(body: &'b [u8]) -> Result<Self, FileApiError> {
        let given = if body.is_empty() {
            HashMap::new()
        } else {
            serde_json::from_slice(body).map_err(|error| not_an_object(body, &error))?
        };
        Ok(Self {
            values: given,
            errors: Vec::new(),
        })
    }

    fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&RawValue) -> Result<T, FieldMessage>,
    ) -> Option<T> {
        let given = self.values.get(name).copied();
        let given = given.filter(|value| value.get() != "null")?;
        match read(given) {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.add_error(&format!("{name} {wrong}"));
                None
            }
        }
    }

    fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&RawValue) -> Result<T, FieldMessage>,
    ) -> Option<T> {
        let known = self.errors.len();
        let value = self.optional(name, read);
        if value.is_none() && self.errors.len() == known {
            self.add_error(&format!("{name} is required"));
        }
        value
    }

    fn add_error(&mut self, wrong: &str) {
        if self.errors.len() < MAX_REPORTED_ERRORS {
            self.errors.push(wrong.to_owned());
        }
    }

    fn finish<T>(self, value: Option<T>) -> Result<T, FileApiError> {
        match value {
            Some(value) if self.errors.is_empty() => Ok(value),
            _ => Err(FileApiError::invalid(self.errors.join("; ") + ".")),
        }
    }
}

fn not_an_object(body: &[u8], error: &serde_json::Error) -> FileApiError {
    let message = match serde_json::from_slice::<Value>(body) {
        Ok(_) => "The body should be a JSON object.".to_owned(),
        Err(_) => format!("The body is not JSON: {error}."),
    };
    FileApiError::invalid(message)
}
