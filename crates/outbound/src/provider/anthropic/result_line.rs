//! Decodes one result of a batch.

use domain::outcome::StopReason;
use serde::Deserialize;
use serde_json::Value;

use crate::provider::batch_provider::UnknownResultLine;
use crate::provider::item_key::ItemKey;
use crate::provider::item_result::{self, ItemResult, ModelStop};
use crate::provider::provider_error::ProviderError;

#[derive(Debug, Deserialize)]
struct Line {
    custom_id: String,
    result: Value,
}

#[derive(Debug, Deserialize)]
struct Message {
    content: Vec<Block>,
    #[serde(default)]
    stop_reason: Option<String>,
    /// Untyped: invalid usage must not make the whole result unreadable.
    #[serde(default)]
    usage: Value,
}

#[derive(Debug, Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
}

pub(super) fn decode(line: &[u8], model: &str) -> Result<(ItemKey, ItemResult), UnknownResultLine> {
    let line: Line = serde_json::from_slice(line).map_err(|_| UnknownResultLine)?;
    let key = line.custom_id.parse().map_err(|_| UnknownResultLine)?;
    let mut result = line.result;
    let kind = result
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let end = match kind {
        "succeeded" => {
            let message = result.get_mut("message").map(Value::take);
            let message = message.and_then(|it| serde_json::from_value(it).ok());
            match message {
                Some(message) => parse_message(&message, key, model),
                None => ItemResult::retry("the response cannot be parsed"),
            }
        }
        "errored" => {
            let error = ProviderError::from_json(&result);
            ItemResult::from_provider_error(http_status_of(&error.code), &error)
        }
        "expired" => ItemResult::retry("expired"),
        "canceled" => ItemResult::retry("cancelled"),
        _ => ItemResult::retry("the response cannot be parsed"),
    };
    Ok((key, end))
}

fn parse_message(message: &Message, key: ItemKey, model: &str) -> ItemResult {
    let usage = usage(&message.usage);
    let texts = message.content.iter().filter(|block| block.kind == "text");
    let text: String = texts.map(|block| block.text.as_str()).collect();
    let stop = match message.stop_reason.as_deref() {
        Some("max_tokens" | "model_context_window_exceeded") => {
            ModelStop::Reason(StopReason::MaxTokens)
        }
        Some("stop_sequence") => ModelStop::Reason(StopReason::StopSequence),
        Some("tool_use") => ModelStop::Unsupported("tool_use".to_owned()),
        Some("pause_turn") => ModelStop::Unsupported("pause_turn".to_owned()),
        // A refusal with text is an answer.
        Some("refusal") => ModelStop::Blocked("refusal".to_owned()),
        // Unknown newer reasons: the text is still an answer.
        Some(_) | None => ModelStop::Reason(StopReason::EndTurn),
    };
    item_result::chat_result(key, model, text, stop, usage)
}

fn usage(usage: &Value) -> Option<domain::outcome::TokenUsage> {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    // Tokens written to or read from the cache are input tokens, too.
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"]
        .into_iter()
        .filter_map(count)
        .fold(0, u64::saturating_add);
    let input = count("input_tokens").map(|input| input.saturating_add(cached));
    item_result::plausible_usage(input, count("output_tokens"))
}

/// The HTTP status of the same error outside a batch.
fn http_status_of(kind: &str) -> u16 {
    match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "conflict_error" => 409,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}
