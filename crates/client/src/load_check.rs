//! What is wrong with the body of a load, without asking the service.
//!
//! The service checks more: models, files, limits. A body without faults here may be refused there.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use wire::load::{ChatParamsBody, EmbeddingParamsBody};

const MAX_METADATA_BYTES: usize = 4096;
/// Of one load, and of a bulk load together.
pub const MAX_LOAD_BYTES: usize = 10 * 1024 * 1024;

/// All faults of the body of a load, in words for people.
pub fn find_faults(load: &Map<String, Value>) -> Vec<String> {
    let mut faults = Vec::new();
    match load.get("params") {
        Some(Value::Object(params)) => check_params(params, &mut faults),
        Some(_) => faults.push("params is not an object".to_owned()),
        None => faults.push("params is missing".to_owned()),
    }
    if let Some(metadata) = load.get("metadata").filter(|it| !it.is_null()) {
        if !metadata.is_object() {
            faults.push("metadata is not an object".to_owned());
        } else if metadata.to_string().len() > MAX_METADATA_BYTES {
            faults.push(format!(
                "metadata is larger than {MAX_METADATA_BYTES} bytes"
            ));
        }
    }
    if let Some(url) = load.get("callback_url").filter(|it| !it.is_null())
        && !is_callback_url(url)
    {
        faults.push("callback_url is not an http, https or listen URL".to_owned());
    }
    faults
}

fn check_params(params: &Map<String, Value>, faults: &mut Vec<String>) {
    let is_chat = params.contains_key("messages");
    match (is_chat, params.contains_key("input_text")) {
        (true, true) => faults.push("params has both messages and input_text".to_owned()),
        (false, false) => faults.push("params has neither messages nor input_text".to_owned()),
        (true, false) => check_chat(params, faults),
        (false, true) => check_shape::<EmbeddingParamsBody>(params, faults),
    }
}

fn check_chat(params: &Map<String, Value>, faults: &mut Vec<String>) {
    let before = faults.len();
    if !params.contains_key("max_tokens") {
        faults.push("params.max_tokens is missing".to_owned());
    } else if params.get("max_tokens").and_then(Value::as_u64) == Some(0) {
        faults.push("params.max_tokens is not positive".to_owned());
    }
    if params.get("messages") == Some(&Value::Array(Vec::new())) {
        faults.push("params.messages is empty".to_owned());
    }
    for name in ["temperature", "top_p"] {
        let value = params.get(name).and_then(Value::as_f64);
        if value.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
            faults.push(format!("params.{name} is not between 0 and 1"));
        }
    }
    if faults.len() == before {
        check_shape::<ChatParamsBody>(params, faults);
    }
}

/// The first field of a wrong type. Null is the same as absent.
fn check_shape<T: DeserializeOwned>(params: &Map<String, Value>, faults: &mut Vec<String>) {
    let present = params.iter().filter(|(_, value)| !value.is_null());
    let present: Map<String, Value> = present
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Err(error) = serde_json::from_value::<T>(Value::Object(present)) {
        faults.push(format!("params: {error}"));
    }
}

fn is_callback_url(url: &Value) -> bool {
    let schemes = ["https://", "http://", "listen://"];
    url.as_str()
        .is_some_and(|url| schemes.iter().any(|scheme| url.starts_with(scheme)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(load: &Value) -> String {
        find_faults(load.as_object().unwrap()).join("; ")
    }

    #[test]
    fn a_good_load_has_no_faults() {
        let message = json!([{"role": "user", "content": "Hello"}]);
        let chat = json!({"params": {"model": "m", "max_tokens": 5, "messages": message}});
        assert_eq!(faults(&chat), "");
        let embedding = json!({"params": {"model": "m", "input_text": ["a"], "dimensions": null}});
        assert_eq!(faults(&embedding), "");
    }

    #[test]
    fn all_faults_are_named() {
        assert_eq!(faults(&json!({})), "params is missing");
        let load = json!({
            "params": {"model": "m", "messages": [], "temperature": 2},
            "metadata": 1,
            "callback_url": "ftp://a",
        });
        assert_eq!(
            faults(&load),
            "params.max_tokens is missing; params.messages is empty; params.temperature is not \
             between 0 and 1; metadata is not an object; callback_url is not an http, https or \
             listen URL"
        );
        let load =
            json!({"params": {"max_tokens": 1, "messages": [{"role": "user", "content": "a"}]}});
        assert_eq!(faults(&load), "params: missing field `model`");
    }
}
