//! A request of `/v1/embeddings` as `params`.

use serde_json::{Map, Value, json};

use super::defaults::ConvertedRequest;
use super::fault::RequestFault;
use super::fields::Fields;
use super::options;

pub(super) fn convert(body: Map<String, Value>) -> Result<ConvertedRequest, RequestFault> {
    let mut body = Fields::of_body(body);
    let mut params = Map::new();
    params.insert("model".to_owned(), json!(body.required_text("model")?));
    let input = body.require("input")?;
    check_texts(&input)?;
    params.insert("input_text".to_owned(), input);
    if let Some(dimensions) = body.take("dimensions") {
        params.insert("dimensions".to_owned(), dimensions);
    }
    let advice = "Vectors are arrays of numbers: use float, or leave it out.";
    body.accept_only("encoding_format", &[json!("float")], advice)?;
    let metadata = options::read_metadata(&mut body)?;
    body.finish()?;
    Ok(ConvertedRequest { params, metadata })
}

/// Tokens are numbers of one provider's tokenizer, so only texts are accepted.
fn check_texts(input: &Value) -> Result<(), RequestFault> {
    let is_text = match input {
        Value::String(_) => true,
        Value::Array(list) => list.iter().all(Value::is_string),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    if is_text {
        return Ok(());
    }
    let advice = "Use a string or an array of strings: tokens are not accepted.";
    Err(RequestFault::unsupported_value("input", advice))
}
