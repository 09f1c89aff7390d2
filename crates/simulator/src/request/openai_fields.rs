//! `OpenAI`'s fields: which exist, and which values a model accepts.

use serde_json::Value;

use super::{TaskKind, list, text_field};
use crate::invalid_request::InvalidRequest;
use crate::known_fields::unknown_field;
use crate::model_rules::OpenAiRules;
use crate::prompt::mentions;

const CHAT_FIELDS: &[&str] = &[
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

const RESPONSES_FIELDS: &[&str] = &[
    "access_programs",
    "background",
    "context_management",
    "conversation",
    "image",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

const EMBEDDING_FIELDS: &[&str] = &["dimensions", "encoding_format", "input", "model", "user"];

const MAX_CACHE_MARKS: usize = 4;

pub(super) fn check_names(kind: TaskKind, body: &Value) -> Result<(), InvalidRequest> {
    let (known, is_chat) = match kind {
        TaskKind::Chat => (CHAT_FIELDS, true),
        TaskKind::Responses => (RESPONSES_FIELDS, false),
        TaskKind::Embedding => (EMBEDDING_FIELDS, true),
    };
    match unknown_field(body, known) {
        None => Ok(()),
        Some(name) if is_chat => Err(InvalidRequest::new(format!(
            "Unrecognized request argument supplied: {name}"
        ))),
        Some(name) => Err(unknown_parameter(name)),
    }
}

/// Refuses an object with a field that is not known.
pub(super) fn check_object(
    object: &Value,
    known: &[&str],
    path: &str,
) -> Result<(), InvalidRequest> {
    match unknown_field(object, known) {
        Some(name) => Err(unknown_parameter(&format!("{path}.{name}"))),
        None => Ok(()),
    }
}

fn unknown_parameter(path: &str) -> InvalidRequest {
    InvalidRequest::new(format!("Unknown parameter: '{path}'."))
        .param(path)
        .code("unknown_parameter")
}

fn unsupported_parameter(name: &str) -> InvalidRequest {
    let message = format!("Unsupported parameter: '{name}' is not supported with this model.");
    InvalidRequest::new(message)
        .param(name)
        .code("unsupported_parameter")
}

/// The effort that applies. `name` is the field's path.
pub(super) fn effort<'a>(
    rules: &OpenAiRules,
    requested: Option<&'a str>,
    name: &str,
) -> Result<&'a str, InvalidRequest> {
    let (Some(effort), Some(accepted)) = (requested, rules.efforts) else {
        return Ok(requested.unwrap_or(rules.default_effort));
    };
    if accepted.is_empty() {
        return Err(unsupported_parameter(name));
    }
    if !accepted.contains(&effort) {
        let message = format!(
            "Unsupported value: '{effort}' is not supported with this model. Supported values are: '{}'.",
            accepted.join("', '")
        );
        return Err(InvalidRequest::new(message)
            .param(name)
            .code("unsupported_value"));
    }
    Ok(effort)
}

/// A model that reasons takes only the default values.
pub(super) fn check_sampling(
    rules: &OpenAiRules,
    effort: &str,
    body: &Value,
) -> Result<(), InvalidRequest> {
    if !rules.reasons() || effort == "none" {
        return Ok(());
    }
    for name in ["temperature", "top_p"] {
        let value = body.get(name).and_then(Value::as_f64);
        if let Some(value) = value.filter(|it| (it - 1.0).abs() > f64::EPSILON) {
            let message = format!(
                "Unsupported value: '{name}' does not support {value} with this model. Only the default (1) value is supported."
            );
            return Err(InvalidRequest::new(message)
                .param(name)
                .code("unsupported_value"));
        }
    }
    for name in [
        "presence_penalty",
        "frequency_penalty",
        "logprobs",
        "logit_bias",
    ] {
        let value = body.get(name);
        if value.is_some_and(|it| !it.is_null() && *it != Value::Bool(false)) {
            return Err(unsupported_parameter(name));
        }
    }
    Ok(())
}

pub(super) fn check_stop(rules: &OpenAiRules, body: &Value) -> Result<(), InvalidRequest> {
    let stop = body.get("stop").filter(|it| !it.is_null());
    if stop.is_some() && !rules.has_stop {
        return Err(unsupported_parameter("stop"));
    }
    let count = list(stop).len();
    if count > 4 {
        let message = format!(
            "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length {count} instead."
        );
        return Err(InvalidRequest::new(message)
            .param("stop")
            .code("array_above_max_length"));
    }
    Ok(())
}

/// Refuses the fields of explicit caching for models that do not have it.
pub(super) fn check_cache(
    rules: &OpenAiRules,
    body: &Value,
    prompt: &Value,
) -> Result<(), InvalidRequest> {
    let has_marks = mentions(prompt, "prompt_cache_breakpoint");
    if !rules.has_cache_marks {
        if let Some(name) = ["prompt_cache_key", "prompt_cache_options"]
            .into_iter()
            .find(|name| body.get(*name).is_some_and(|it| !it.is_null()))
        {
            return Err(unsupported_parameter(name));
        }
        if has_marks {
            return Err(unsupported_parameter("prompt_cache_breakpoint"));
        }
        return Ok(());
    }
    let options = body.get("prompt_cache_options").unwrap_or(&Value::Null);
    let known = ["mode", "ttl", "prewarm", "comparison_response_id"];
    check_object(options, &known, "prompt_cache_options")?;
    let mode = text_field(options, "mode");
    if mode.is_some_and(|mode| mode != "implicit" && mode != "explicit") {
        let message = "Invalid value: 'prompt_cache_options.mode'. Supported values are: 'implicit' and 'explicit'.";
        return Err(InvalidRequest::new(message)
            .param("prompt_cache_options.mode")
            .code("invalid_value"));
    }
    if count_marks(prompt) > MAX_CACHE_MARKS {
        let message = "Invalid 'prompt_cache_breakpoint': at most 4 breakpoints may be written in one request.";
        return Err(InvalidRequest::new(message).param("prompt_cache_breakpoint"));
    }
    Ok(())
}

fn count_marks(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            let below: usize = fields.values().map(count_marks).sum();
            below + usize::from(fields.contains_key("prompt_cache_breakpoint"))
        }
        Value::Array(items) => items.iter().map(count_marks).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The tier of the request. A batch has its own.
pub(super) fn tier(body: &Value) -> Result<Option<String>, InvalidRequest> {
    let Some(tier) = text_field(body, "service_tier") else {
        return Ok(None);
    };
    let known = ["auto", "default", "flex", "scale", "priority", "fast"];
    if !known.contains(&tier) {
        let message = format!(
            "Invalid value: '{tier}'. Supported values are: 'auto', 'default', 'flex', 'scale', 'priority' and 'fast'."
        );
        return Err(InvalidRequest::new(message)
            .param("service_tier")
            .code("invalid_value"));
    }
    Ok(Some(tier.to_owned()))
}
