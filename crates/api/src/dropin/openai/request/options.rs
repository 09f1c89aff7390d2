//! Fields that Chat Completions and Responses have in common.

use domain::params::thinking::Effort;
use serde_json::{Map, Value, json};

use super::defaults::ConversionDefaults;
use super::fault::RequestFault;
use super::fields::{Fields, present_fields};

/// Fields that change no answer: Longshore stores by the retention of the project, and caches by
/// organization.
const WITHOUT_EFFECT: &[&str] = &[
    "store",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
];

pub(super) fn accept_common(body: &mut Fields) -> Result<(), RequestFault> {
    body.accept(WITHOUT_EFFECT);
    let advice = "A batch has no streams. Leave it out.";
    body.accept_only("stream", &[json!(false)], advice)?;
    body.refuse(&["stream_options"], advice)?;
    let advice = "Leave it out, and choose a completion_window: Longshore chooses the way.";
    body.accept_only("service_tier", &[json!("auto"), json!("default")], advice)?;
    let advice = "Leave it out: answers have no log probabilities.";
    body.accept_only("top_logprobs", &[json!(0)], advice)
}

/// `temperature`, `top_p` and `top_k`.
pub(super) fn put_sampling(
    body: &mut Fields,
    params: &mut Map<String, Value>,
) -> Result<(), RequestFault> {
    for name in ["temperature", "top_p", "top_k"] {
        let Some(value) = body.take(name) else {
            continue;
        };
        let path = body.path(name);
        let Some(number) = value.as_f64() else {
            return Err(RequestFault::wrong_type(&path, "a number"));
        };
        if name == "temperature" && number > 1.0 {
            let advice = "Longshore takes 0 to 1, which every provider takes. Scale it.";
            return Err(RequestFault::unsupported_value(&path, advice));
        }
        params.insert(name.to_owned(), value);
    }
    Ok(())
}

/// Params with `model` and `max_tokens`: from whichever of the names the caller used, or the most
/// that the model answers.
pub(super) fn begin_params(
    body: &mut Fields,
    names: &[&str],
    defaults: &ConversionDefaults,
) -> Result<Map<String, Value>, RequestFault> {
    let model = body.required_text("model")?;
    let mut chosen: Option<Value> = None;
    for name in names {
        let Some(value) = body.take(name) else {
            continue;
        };
        if chosen.as_ref().is_some_and(|chosen| *chosen != value) {
            let reason = "Two limits contradict each other. Send one of them.";
            return Err(RequestFault::invalid(&body.path(name), reason));
        }
        chosen = Some(value);
    }
    let max_tokens = chosen.unwrap_or_else(|| json!(defaults.max_tokens_of(&model)));
    Ok(present_fields([
        ("model", Some(json!(model))),
        ("max_tokens", Some(max_tokens)),
    ]))
}

/// The caller's tags: `metadata`, and who the end user is.
pub(super) fn read_metadata(body: &mut Fields) -> Result<Option<Map<String, Value>>, RequestFault> {
    let metadata = body.object("metadata")?;
    let mut tags = metadata.map(Fields::into_values).unwrap_or_default();
    for name in ["user", "safety_identifier"] {
        if let Some(user) = body.text(name)?
            && !tags.contains_key(name)
        {
            tags.insert(name.to_owned(), Value::String(user));
        }
    }
    Ok((!tags.is_empty()).then_some(tags))
}

/// The effort of the model: `output_config.effort`, or no thinking at all.
pub(super) fn put_effort(
    effort: &str,
    path: &str,
    output_config: &mut Map<String, Value>,
    params: &mut Map<String, Value>,
) -> Result<(), RequestFault> {
    if effort == "none" {
        params.insert("thinking".to_owned(), json!({"type": "disabled"}));
        return Ok(());
    }
    if Effort::parse(effort).is_none() {
        let advice = "Use none, low, medium, high, xhigh or max, where the model has it.";
        return Err(RequestFault::unsupported_value(path, advice));
    }
    output_config.insert("effort".to_owned(), json!(effort));
    Ok(())
}

/// The schema of the answer: `name`, `schema`, `strict` and `description`. The provider always
/// enforces it. The description of the format is that of the schema, unless it has its own.
pub(super) fn put_schema(
    mut format: Fields,
    output_config: &mut Map<String, Value>,
) -> Result<(), RequestFault> {
    let name = format.text("name")?;
    let description = format.text("description")?;
    format.boolean("strict")?;
    let mut schema = format.require("schema")?;
    format.finish()?;
    if let (Some(text), Some(schema)) = (description, schema.as_object_mut())
        && !schema.contains_key("description")
    {
        schema.insert("description".to_owned(), Value::String(text));
    }
    let described = present_fields([
        ("type", Some(json!("json_schema"))),
        ("schema", Some(schema)),
        ("name", name.map(Value::String)),
    ]);
    output_config.insert("format".to_owned(), Value::Object(described));
    Ok(())
}

pub(super) fn unsupported_format(path: &str) -> RequestFault {
    let advice = "Use text, or json_schema with a schema.";
    RequestFault::unsupported_value(path, advice)
}

/// An option that goes to providers of the `OpenAI` API, if the operator allows it for the model.
pub(super) fn put_option(name: &str, value: Value, params: &mut Map<String, Value>) {
    let options = params
        .entry("provider_options")
        .or_insert_with(|| json!({}));
    if let Some(options) = options.as_object_mut() {
        let kind = options.entry("openai").or_insert_with(|| json!({}));
        if let Some(kind) = kind.as_object_mut() {
            kind.insert(name.to_owned(), value);
        }
    }
}
