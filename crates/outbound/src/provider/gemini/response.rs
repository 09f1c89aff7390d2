//! Parses a response: the same in a result of a batch and to a call of its own.

use domain::model_answer::{ModelAnswer, ModelStop};
use domain::outcome::CompletionBlock;
use domain::route::InferenceMode;
use domain::thinking_signature::{SignatureKind, ThinkingSignature};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::provider::item_key::ItemKey;
use crate::provider::item_result::ItemResult;
use crate::provider::tool_calls::ToolCallReader;
use crate::provider::usage_reading;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    #[serde(default)]
    candidates: Vec<Candidate>,
    #[serde(default)]
    prompt_feedback: Option<PromptFeedback>,
    #[serde(default)]
    embedding: Option<EmbeddingVector>,
    /// Untyped: invalid usage must not make the whole response unreadable.
    #[serde(default)]
    usage_metadata: Value,
    #[serde(default)]
    token_count: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    /// With `parts`, unless the model wrote nothing.
    #[serde(default)]
    content: Value,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct EmbeddingVector {
    values: Vec<f32>,
}

pub(super) fn parse(response: Value, key: ItemKey) -> ItemResult {
    let Ok(response) = serde_json::from_value::<Response>(response) else {
        return ItemResult::retry("the response cannot be parsed");
    };
    if let Some(vector) = response.embedding {
        let counts = embedding_counts(response.token_count, &response.usage_metadata);
        return ItemResult::Embeddings {
            vectors: vec![vector.values],
            usage: usage_reading::embedding_usage(&counts).usage,
        };
    }
    let usage = usage_reading::gemini_usage(&response.usage_metadata);
    let tier = response.usage_metadata.get("serviceTier");
    let tier = tier.and_then(Value::as_str).and_then(parse_tier);
    let billed = usage.bill(tier);
    let retry = |why: String| ItemResult::Retry { why, billed };
    let (blocks, stop) = match response.candidates.into_iter().next() {
        Some(candidate) => {
            let blocks = parse_parts(&candidate.content, key);
            let reason = candidate.finish_reason.unwrap_or_default();
            match model_stop(&reason, &blocks) {
                Some(stop) => (blocks, stop),
                None => return retry(format!("the model stopped with {reason}")),
            }
        }
        None => match response.prompt_feedback.and_then(|it| it.block_reason) {
            Some(reason) => (Vec::new(), ModelStop::Blocked(reason)),
            None => return retry("the response has no candidate".to_owned()),
        },
    };
    let answer = usage.into_answer(blocks, stop);
    ItemResult::Answer(ModelAnswer { tier, ..answer })
}

/// The tier that Gemini says it served.
pub(super) fn parse_tier(name: &str) -> Option<InferenceMode> {
    match name.to_ascii_lowercase().as_str() {
        "batch" => Some(InferenceMode::Batch),
        "flex" => Some(InferenceMode::Flex),
        "standard" | "priority" => Some(InferenceMode::Realtime),
        _ => None,
    }
}

fn parse_parts(content: &Value, key: ItemKey) -> Vec<CompletionBlock> {
    let parts = content.get("parts").and_then(Value::as_array);
    let mut blocks = Vec::new();
    let mut calls = ToolCallReader::new(key.cargo);
    for part in parts.into_iter().flatten() {
        let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
        let signature = part.get("thoughtSignature").and_then(Value::as_str);
        let signature = signature.unwrap_or_default();
        if part.get("thought").and_then(Value::as_bool) == Some(true) {
            blocks.push(thinking(text, signature));
            continue;
        }
        if !signature.is_empty() {
            blocks.push(thinking("", signature));
        }
        if let Some(call) = part.get("functionCall").filter(|it| it.is_object()) {
            let field = |name: &str| call.get(name).and_then(Value::as_str);
            let name = field("name").unwrap_or_default();
            blocks.push(calls.read(field("id"), name, call.get("args")));
        } else {
            push_text(&mut blocks, text);
        }
    }
    blocks
}

/// Gemini may split one text into several parts. An answer in JSON must stay one block.
fn push_text(blocks: &mut Vec<CompletionBlock>, text: &str) {
    if let Some(CompletionBlock::Text { text: before }) = blocks.last_mut() {
        before.push_str(text);
    } else if !text.is_empty() {
        blocks.push(CompletionBlock::plain_text(text.to_owned()));
    }
}

fn thinking(text: &str, signature: &str) -> CompletionBlock {
    CompletionBlock::Thinking {
        thinking: text.to_owned(),
        signature: ThinkingSignature::new(SignatureKind::Gemini, signature).to_string(),
    }
}

/// None if the answer is broken and another attempt may succeed.
fn model_stop(reason: &str, blocks: &[CompletionBlock]) -> Option<ModelStop> {
    let is_call = |block: &CompletionBlock| matches!(block, CompletionBlock::ToolUse { .. });
    let stop = match reason {
        // Gemini has no reason of its own for calls.
        "" | "STOP" | "FINISH_REASON_UNSPECIFIED" if blocks.iter().any(is_call) => {
            ModelStop::ToolUse
        }
        "" | "STOP" | "FINISH_REASON_UNSPECIFIED" => ModelStop::EndTurn,
        "MAX_TOKENS" | "CONTINUATION" => ModelStop::MaxTokens,
        "TOO_MANY_TOOL_CALLS" => ModelStop::Unsupported(reason.to_owned()),
        "UNEXPECTED_TOOL_CALL" => return None,
        "OTHER" if !blocks.iter().any(CompletionBlock::is_filled) => return None,
        _ if reason.starts_with("MALFORMED_") => return None,
        // SAFETY, RECITATION, PROHIBITED_CONTENT and newer filters.
        _ => ModelStop::Blocked(reason.to_owned()),
    };
    Some(stop)
}

/// The count of an embedding is in one of two places.
fn embedding_counts(token_count: Value, usage_metadata: &Value) -> Value {
    let count = if token_count.is_null() {
        usage_metadata.get("promptTokenCount").cloned()
    } else {
        Some(token_count)
    };
    count.map_or(Value::Null, |count| json!({"tokenCount": count}))
}
