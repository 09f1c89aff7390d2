//! A request of `/v1/chat/completions` as `params`.

use serde_json::{Map, Value, json};

use super::chat_messages;
use super::defaults::{ConversionDefaults, ConvertedRequest};
use super::fault::RequestFault;
use super::fields::Fields;
use super::options;
use super::tools::{self, FunctionForm};

pub(super) fn convert(
    body: Map<String, Value>,
    defaults: &ConversionDefaults,
) -> Result<ConvertedRequest, RequestFault> {
    let mut body = Fields::of_body(body);
    let limits = ["max_completion_tokens", "max_tokens"];
    let mut params = options::begin_params(&mut body, &limits, defaults)?;
    let messages = body.list("messages")?;
    let messages = messages.ok_or_else(|| RequestFault::missing("messages"))?;
    chat_messages::convert(messages, defaults)?.write(&mut params);
    options::put_sampling(&mut body, &mut params)?;
    put_stop(&mut body, &mut params)?;
    tools::put_tools(&mut body, FunctionForm::Nested, &mut params)?;
    let mut output_config = Map::new();
    put_format(&mut body, &mut output_config)?;
    if let Some(effort) = body.text("reasoning_effort")? {
        let path = "reasoning_effort";
        options::put_effort(&effort, path, &mut output_config, &mut params)?;
    }
    if !output_config.is_empty() {
        params.insert("output_config".to_owned(), Value::Object(output_config));
    }
    if let Some(seed) = body.take("seed") {
        params.insert("seed".to_owned(), seed);
    }
    put_options(&mut body, &mut params);
    let metadata = options::read_metadata(&mut body)?;
    accept_defaults(&mut body)?;
    body.finish()?;
    Ok(ConvertedRequest { params, metadata })
}

/// One stop sequence, or several.
fn put_stop(body: &mut Fields, params: &mut Map<String, Value>) -> Result<(), RequestFault> {
    let stops = match body.take("stop") {
        None => return Ok(()),
        Some(Value::String(text)) => vec![Value::String(text)],
        Some(Value::Array(list)) => list,
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            let expected = "a string or an array of strings";
            return Err(RequestFault::wrong_type("stop", expected));
        }
    };
    if !stops.is_empty() {
        params.insert("stop_sequences".to_owned(), Value::Array(stops));
    }
    Ok(())
}

fn put_format(
    body: &mut Fields,
    output_config: &mut Map<String, Value>,
) -> Result<(), RequestFault> {
    let Some(mut format) = body.object("response_format")? else {
        return Ok(());
    };
    match format.required_text("type")?.as_str() {
        "text" => format.finish(),
        "json_schema" => {
            let path = format.path("json_schema");
            let schema = format.object("json_schema")?;
            let schema = schema.ok_or_else(|| RequestFault::missing(&path))?;
            format.finish()?;
            options::put_schema(schema, output_config)
        }
        _ => Err(options::unsupported_format(&format.path("type"))),
    }
}

/// Options that only some providers take. Their defaults ask for nothing.
fn put_options(body: &mut Fields, params: &mut Map<String, Value>) {
    let defaults = [
        ("verbosity", json!("medium")),
        ("frequency_penalty", json!(0)),
        ("presence_penalty", json!(0)),
        ("logit_bias", json!({})),
    ];
    for (name, default) in defaults {
        if let Some(value) = body.take(name) {
            let is_zero = default == json!(0) && value.as_f64() == Some(0.0);
            if value != default && !is_zero {
                options::put_option(name, value, params);
            }
        }
    }
}

/// Fields that may only ask for what happens anyway.
fn accept_defaults(body: &mut Fields) -> Result<(), RequestFault> {
    options::accept_common(body)?;
    let advice = "Leave it out, and send the request as often as you need answers.";
    body.accept_only("n", &[json!(1)], advice)?;
    let advice = "Leave it out: answers have no log probabilities.";
    body.accept_only("logprobs", &[json!(false)], advice)?;
    let advice = "Answers are text and calls of tools.";
    body.accept_only("modalities", &[json!(["text"])], advice)?;
    body.refuse(&["functions"], "Use tools.")?;
    body.refuse(&["function_call"], "Use tool_choice.")
}
