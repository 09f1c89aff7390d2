//! Google's field names, which have two spellings.

use serde_json::Value;

use super::texts;
use crate::invalid_request::InvalidRequest;
use crate::known_fields::unknown_google_field;

/// Refuses an object with a field that is not known.
pub(super) fn check_names(
    object: &Value,
    known: &[&str],
    path: &str,
) -> Result<(), InvalidRequest> {
    let Some(name) = unknown_google_field(object, known) else {
        return Ok(());
    };
    let place = if path.is_empty() {
        String::new()
    } else {
        format!(" at '{path}'")
    };
    Err(format!(
        "Invalid JSON payload received. Unknown name \"{name}\"{place}: Cannot find field."
    )
    .into())
}

pub(super) fn parts(content: &Value) -> Vec<&str> {
    texts(content.get("parts").unwrap_or(&Value::Null))
}

/// A field by either of its names.
pub(super) fn field_by_names<'a>(value: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    value.get(camel).or_else(|| value.get(snake))
}
