//! `GenerateContentResponse` and `EmbedContentResponse`. Zeros are omitted.

use serde_json::{Map, Value, json};

use super::counts::styled;
use super::hex_digits;
use crate::answer::{ChatAnswer, EmbeddingAnswer};
use crate::bill::SimulatedTier;
use crate::rule::{FinishReason, UsageStyle};
use crate::signature::{TEXT_PART, sign};
use crate::usage::SimulatedUsage;

pub fn content(answer: &ChatAnswer, id: &str, model: &str) -> Value {
    let finish = match &answer.finish_reason {
        // Also when functions are called.
        FinishReason::End | FinishReason::StopSequence(_) | FinishReason::ToolCalls => "STOP",
        FinishReason::Length => "MAX_TOKENS",
        FinishReason::Blocked => "",
        FinishReason::Refused => "SAFETY",
        FinishReason::Continuation => "CONTINUATION",
        FinishReason::Aborted => "MALFORMED_RESPONSE",
        FinishReason::Named(name) => name,
    };
    let mut body = Map::new();
    if answer.finish_reason == FinishReason::Blocked {
        // A blocked prompt has no candidates at all.
        let feedback = json!({"blockReason": "SAFETY"});
        body.insert("promptFeedback".to_owned(), feedback);
    } else {
        let candidate = json!({
            "content": {"parts": parts(answer, id), "role": "model"},
            "finishReason": finish,
        });
        body.insert("candidates".to_owned(), json!([candidate]));
    }
    if let Some(usage) = answer.usage {
        let mut metadata = styled(counts(usage, answer.usage_style), answer.usage_style);
        if let (Some(metadata), Some(tier)) = (metadata.as_object_mut(), answer.tier) {
            metadata.insert("serviceTier".to_owned(), json!(tier_name(tier)));
        }
        body.insert("usageMetadata".to_owned(), metadata);
    }
    body.insert("modelVersion".to_owned(), json!(model));
    body.insert("responseId".to_owned(), json!(id));
    Value::Object(body)
}

pub const fn tier_name(tier: SimulatedTier) -> &'static str {
    match tier {
        SimulatedTier::Flex => "flex",
        SimulatedTier::Standard | SimulatedTier::Batch => "standard",
    }
}

/// Thoughts, then a text, then calls. The first part after the thoughts is signed.
fn parts(answer: &ChatAnswer, id: &str) -> Vec<Value> {
    let mut parts = Vec::new();
    if let Some(thought) = answer.thought.as_ref().filter(|it| it.is_shown) {
        parts.push(json!({"text": thought.text, "thought": true}));
    }
    let mut is_signed = !answer.signing.signs_parts && answer.thought.is_none();
    let mut put = |mut part: Value, covered: &str| {
        if let Some(part) = part.as_object_mut().filter(|_| !is_signed) {
            part.insert("thoughtSignature".to_owned(), json!(sign(id, covered)));
        }
        is_signed = true;
        parts.push(part);
    };
    if let Some(text) = answer.text.as_deref().filter(|text| !text.is_empty()) {
        put(json!({"text": text}), TEXT_PART);
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let mut function = json!({"name": call.name, "args": call.arguments.to_json()});
        if let Some(function) = function.as_object_mut().filter(|_| call.has_id) {
            let call_id = hex_digits(&[id, "call", &index.to_string()], 8);
            function.insert("id".to_owned(), json!(call_id));
        }
        put(json!({"functionCall": function}), &call.name);
    }
    parts
}

/// Thoughts are counted beside the candidates.
fn counts(usage: SimulatedUsage, style: UsageStyle) -> Value {
    let candidates = if style == UsageStyle::Inclusive {
        usage.output
    } else {
        usage.output - usage.thinking
    };
    let counts = [
        ("promptTokenCount", usage.input),
        ("cachedContentTokenCount", usage.cached),
        ("candidatesTokenCount", candidates),
        ("thoughtsTokenCount", usage.thinking),
        ("totalTokenCount", usage.input + usage.output),
    ];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let counts = counts.map(|(name, count)| (name.to_owned(), json!(count)));
    Value::Object(counts.collect())
}

pub fn embedding(answer: &EmbeddingAnswer) -> Value {
    let values = answer.vectors.first().cloned().unwrap_or_default();
    let mut body = json!({"embedding": {"values": values}});
    if let (Some(usage), Some(body)) = (answer.usage, body.as_object_mut()) {
        body.insert("tokenCount".to_owned(), json!(usage.input.to_string()));
    }
    body
}
