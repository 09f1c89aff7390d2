//! Decodes one result of a batch.

use domain::model_answer::ModelStop;
use domain::outcome::{CompletionBlock, StopDetails};
use domain::thinking_signature::{SignatureKind, ThinkingSignature};
use domain::token_buckets::TokenBuckets;
use serde::Deserialize;
use serde_json::Value;

use crate::provider::batch_provider::UnknownResultLine;
use crate::provider::item_key::ItemKey;
use crate::provider::item_result::ItemResult;
use crate::provider::provider_error::ProviderError;
use crate::provider::tool_calls::ToolCallReader;
use crate::provider::usage_reading;

#[derive(Debug, Deserialize)]
struct Line {
    custom_id: String,
    result: Value,
}

#[derive(Debug, Deserialize)]
struct Message {
    content: Vec<Value>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    stop_sequence: Option<String>,
    #[serde(default)]
    stop_details: Value,
    /// Untyped: invalid usage must not make the whole result unreadable.
    #[serde(default)]
    usage: Value,
}

pub(super) fn decode(line: &[u8]) -> Result<(ItemKey, ItemResult), UnknownResultLine> {
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
                Some(message) => parse_message(message, key),
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

fn parse_message(message: Message, key: ItemKey) -> ItemResult {
    let is_empty = message.content.is_empty();
    let mut calls = ToolCallReader::new(key.cargo);
    let blocks = message.content.iter();
    let blocks: Vec<CompletionBlock> = blocks
        .filter_map(|block| parse_block(block, &mut calls))
        .collect();
    let stop = match message.stop_reason.as_deref() {
        Some("max_tokens" | "model_context_window_exceeded") => ModelStop::MaxTokens,
        Some("stop_sequence") => ModelStop::StopSequence(message.stop_sequence),
        Some("tool_use") => ModelStop::ToolUse,
        // Only the provider's own tools pause a turn, and Longshore sends none.
        Some("pause_turn") => ModelStop::Unsupported("pause_turn".to_owned()),
        Some("refusal") => ModelStop::Refusal(refusal_details(&message.stop_details)),
        // `end_turn`, and newer reasons: the blocks are an answer.
        Some(_) | None if calls.has_calls() => ModelStop::ToolUse,
        Some(_) | None => ModelStop::EndTurn,
    };
    let is_free = is_empty && matches!(stop, ModelStop::Refusal(_));
    let mut answer = usage_reading::anthropic_usage(&message.usage).into_answer(blocks, stop);
    if is_free {
        // Anthropic reports usage for a refusal before any output, but does not bill it.
        answer.billed = Some(TokenBuckets::default());
    }
    ItemResult::Answer(answer)
}

/// None for blocks of the provider's own tools and for newer kinds.
fn parse_block(block: &Value, calls: &mut ToolCallReader) -> Option<CompletionBlock> {
    let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
    let envelope = |text: &str| ThinkingSignature::new(SignatureKind::Anthropic, text).to_string();
    match text("type") {
        "text" => Some(CompletionBlock::plain_text(text("text").to_owned())),
        "tool_use" => {
            let id = block.get("id").and_then(Value::as_str);
            Some(calls.read(id, text("name"), block.get("input")))
        }
        "thinking" => Some(CompletionBlock::Thinking {
            thinking: text("thinking").to_owned(),
            signature: envelope(text("signature")),
        }),
        "redacted_thinking" => Some(CompletionBlock::RedactedThinking {
            data: envelope(text("data")),
        }),
        _ => None,
    }
}

fn refusal_details(details: &Value) -> StopDetails {
    let text = |name: &str| details.get(name).and_then(Value::as_str).map(str::to_owned);
    StopDetails {
        category: text("category"),
        explanation: text("explanation"),
    }
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
        "rate_limit_error" | "enforced_spend_limit_reached" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}
