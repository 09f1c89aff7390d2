//! Requests in `OpenAI`'s words, and the same in ours. Every expectation is also read by the
//! validation of loads.

mod chat;
mod refused;
mod responses;

use serde_json::{Map, Value, json};

use super::{ConversionDefaults, ConvertedRequest, convert_request};
use crate::dropin::openai::endpoint::Endpoint;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

fn defaults() -> ConversionDefaults {
    let image = format!("file_{:032x}", 1);
    let video = format!("file_{:032x}", 3);
    ConversionDefaults {
        max_tokens: [("large".to_owned(), 64_000)].into(),
        file_kinds: [(image, "image".to_owned()), (video, "video".to_owned())].into(),
    }
}

fn convert(endpoint: Endpoint, body: Value) -> Result<ConvertedRequest, String> {
    let converted = convert_request(endpoint, object(body), &defaults());
    let converted = converted.map_err(|fault| fault.message)?;
    // What the conversion writes is what a stored request is.
    let params = Value::Object(converted.params.clone());
    let read = serde_json::from_value::<domain::params::Params>(params.clone());
    let read = read.map_err(|error| format!("not params: {error}: {params}"))?;
    assert_eq!(serde_json::to_value(&read).ok().as_ref(), Some(&params));
    Ok(converted)
}

/// The params of a chat with these fields beside its model and one message.
fn chat(fields: Value) -> Result<Value, String> {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    for (name, value) in object(fields) {
        body[name] = value;
    }
    let converted = convert(Endpoint::ChatCompletions, body)?;
    Ok(Value::Object(converted.params))
}

/// The params of a request of Responses with these fields beside its model and its input.
fn response(fields: Value) -> Result<Value, String> {
    let mut body = json!({"model": "m", "input": "Hi"});
    for (name, value) in object(fields) {
        body[name] = value;
    }
    let converted = convert(Endpoint::Responses, body)?;
    Ok(Value::Object(converted.params))
}

#[test]
fn embeddings_are_texts() {
    let convert = |body: Value| {
        let converted = convert(Endpoint::Embeddings, body);
        converted.map(|it| (Value::Object(it.params), it.metadata))
    };
    let one = convert(json!({"model": "e", "input": "a", "encoding_format": "float"}));
    assert_eq!(one, Ok((json!({"model": "e", "input_text": "a"}), None)));
    let many = convert(json!({
        "model": "e", "input": ["a", "b"], "dimensions": 256, "user": "u-1",
    }));
    let expected = json!({"model": "e", "input_text": ["a", "b"], "dimensions": 256});
    assert_eq!(many, Ok((expected, Some(object(json!({"user": "u-1"}))))));
    for (body, named) in [
        (json!({"model": "e"}), "input"),
        (json!({"input": "a"}), "model"),
        (json!({"model": "e", "input": [1, 2]}), "input"),
        (json!({"model": "e", "input": [[1], [2]]}), "input"),
        (
            json!({"model": "e", "input": "a", "encoding_format": "base64"}),
            "encoding_format",
        ),
        (json!({"model": "e", "input": "a", "task": "x"}), "task"),
    ] {
        let refused = convert(body.clone()).unwrap_err();
        assert!(refused.contains(&format!("'{named}'")), "{body}: {refused}");
    }
}
