//! One result of a batch.

use domain::outcome::StopReason;
use serde::Deserialize;
use serde_json::Value;

use crate::provider::ending::{self, ItemEnd, Stop};
use crate::provider::jobs::Unreadable;
use crate::provider::key::ItemKey;
use crate::provider::no::No;

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
    /// Whatever stands there: nonsense in it must not cost the answer.
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

pub(super) fn decode(line: &[u8], model: &str) -> Result<(ItemKey, ItemEnd), Unreadable> {
    let line: Line = serde_json::from_slice(line).map_err(|_| Unreadable)?;
    let key = line.custom_id.parse().map_err(|_| Unreadable)?;
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
                Some(message) => read(&message, key, model),
                None => ItemEnd::again("the answer cannot be read"),
            }
        }
        "errored" => {
            let no = No::of(&result);
            ItemEnd::refused(status(&no.code), &no)
        }
        "expired" => ItemEnd::again("expired"),
        "canceled" => ItemEnd::again("cancelled"),
        _ => ItemEnd::again("the answer cannot be read"),
    };
    Ok((key, end))
}

fn read(message: &Message, key: ItemKey, model: &str) -> ItemEnd {
    let usage = usage(&message.usage);
    let texts = message.content.iter().filter(|block| block.kind == "text");
    let text: String = texts.map(|block| block.text.as_str()).collect();
    let stop = match message.stop_reason.as_deref() {
        Some("max_tokens" | "model_context_window_exceeded") => Stop::Reason(StopReason::MaxTokens),
        Some("stop_sequence") => Stop::Reason(StopReason::StopSequence),
        Some("tool_use") => Stop::Unoffered("tool_use".to_owned()),
        Some("pause_turn") => Stop::Unoffered("pause_turn".to_owned()),
        // With words of its own it is an answer like any other.
        Some("refusal") => Stop::Blocked("refusal".to_owned()),
        // A name that came after us: what was said is still an answer.
        Some(_) | None => Stop::Reason(StopReason::EndTurn),
    };
    ending::chat(key, model, text, stop, usage)
}

fn usage(usage: &Value) -> Option<domain::outcome::Usage> {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    // What was written to the cache or read from it was read by the model as well.
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"]
        .into_iter()
        .filter_map(count)
        .fold(0, u64::saturating_add);
    let input = count("input_tokens").map(|input| input.saturating_add(cached));
    ending::usage(input, count("output_tokens"))
}

/// The status that an answer of its own would have had.
fn status(kind: &str) -> u16 {
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
