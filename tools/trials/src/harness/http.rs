//! Clients of the service, of the object store and of the simulator.

pub mod body_search;
pub mod files_client;
pub mod http_client;
pub mod load_request;
pub mod s3_bucket;
pub mod service_client;

use serde_json::Value;

use crate::harness::{FailureContext as _, Result};

/// A text field of a JSON object.
pub fn string_field(object: &Value, field: &str) -> Result<String> {
    let text = object.get(field).and_then(Value::as_str).map(str::to_owned);
    text.context(format!("no {field} in {object}"))
}
