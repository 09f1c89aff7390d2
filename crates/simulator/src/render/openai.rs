//! Chat completions and lists of embeddings of `OpenAI` and vLLM.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::counts::styled;
use super::hex_digits;
use crate::answer::{ChatAnswer, EmbeddingAnswer, SimulatedToolCall};
use crate::bill::SimulatedTier;
use crate::rule::{FinishReason, UsageStyle};
use crate::usage::SimulatedUsage;

#[derive(Debug, Clone, Copy)]
pub struct CompletionMetadata<'a> {
    pub id: &'a str,
    pub model: &'a str,
    pub created: i64,
    /// vLLM adds `stop_reason` and omits `service_tier` and `system_fingerprint`.
    pub is_vllm: bool,
}

pub fn chat(answer: &ChatAnswer, metadata: CompletionMetadata<'_>) -> Value {
    let mut choice = json!({
        "index": 0,
        "message": message(answer, metadata),
        "logprobs": null,
        "finish_reason": finish_reason(answer),
    });
    if metadata.is_vllm
        && let Some(choice) = choice.as_object_mut()
    {
        let sequence = match &answer.finish_reason {
            FinishReason::StopSequence(text) => Some(text),
            FinishReason::End
            | FinishReason::Length
            | FinishReason::Blocked
            | FinishReason::Refused
            | FinishReason::ToolCalls
            | FinishReason::Continuation
            | FinishReason::Aborted
            | FinishReason::Named(_) => None,
        };
        choice.insert("stop_reason".to_owned(), json!(sequence));
    }
    let mut body = json!({
        "id": format!("chatcmpl-{}", metadata.id),
        "object": "chat.completion",
        "created": metadata.created,
        "model": metadata.model,
        "choices": [choice],
    });
    if let Some(body) = body.as_object_mut() {
        if let Some(usage) = answer.usage {
            let usage = chat_usage(usage, answer.usage_style);
            body.insert("usage".to_owned(), styled(usage, answer.usage_style));
        }
        if !metadata.is_vllm {
            body.insert("service_tier".to_owned(), json!(tier_name(answer)));
            body.insert("system_fingerprint".to_owned(), Value::Null);
        }
    }
    body
}

fn message(answer: &ChatAnswer, metadata: CompletionMetadata<'_>) -> Map<String, Value> {
    let is_refusal = answer.finish_reason == FinishReason::Refused;
    let (content, refusal) = if is_refusal {
        (None, answer.text.as_deref())
    } else {
        (answer.text.as_deref(), None)
    };
    let mut message = Map::new();
    let mut put = |name: &str, value: Value| message.insert(name.to_owned(), value);
    put("role", json!("assistant"));
    put("content", json!(content));
    put("refusal", json!(refusal));
    put("annotations", json!([]));
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().enumerate();
        let calls: Vec<Value> = calls
            .map(|(index, call)| tool_call(call, metadata.id, index))
            .collect();
        put("tool_calls", json!(calls));
    }
    // Servers return thoughts as a text; `OpenAI` only counts them.
    if let Some(thought) = answer.thought.as_ref().filter(|_| metadata.is_vllm) {
        put("reasoning_content", json!(thought.text));
    }
    message
}

fn tool_call(call: &SimulatedToolCall, answer_id: &str, index: usize) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments.to_text()});
    if call.has_id {
        json!({"id": call_id(answer_id, index), "type": "function", "function": function})
    } else {
        json!({"type": "function", "function": function})
    }
}

pub(super) fn call_id(answer_id: &str, index: usize) -> String {
    let digits = hex_digits(&[answer_id, "call", &index.to_string()], 24);
    format!("call_{digits}")
}

fn finish_reason(answer: &ChatAnswer) -> &str {
    match &answer.finish_reason {
        // A refusal without a text is a filter's work here.
        FinishReason::Refused if answer.text.is_none() => "content_filter",
        FinishReason::End | FinishReason::Refused | FinishReason::StopSequence(_) => "stop",
        FinishReason::Length | FinishReason::Continuation => "length",
        FinishReason::Blocked => "content_filter",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Aborted => "abort",
        FinishReason::Named(name) => name,
    }
}

/// Without a tier in the request, or after a downgrade, it is `default`.
pub(super) fn tier_name(answer: &ChatAnswer) -> &'static str {
    match answer.tier {
        Some(SimulatedTier::Flex) => "flex",
        Some(SimulatedTier::Standard | SimulatedTier::Batch) | None => "default",
    }
}

fn chat_usage(usage: SimulatedUsage, style: UsageStyle) -> Value {
    let (completion, total) = output_counts(usage, style);
    let mut prompt_details = json!({"cached_tokens": usage.cached, "audio_tokens": 0});
    if let Some(details) = prompt_details
        .as_object_mut()
        .filter(|_| usage.writes() > 0)
    {
        details.insert("cache_write_tokens".to_owned(), json!(usage.writes()));
    }
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": completion,
        "total_tokens": total,
        "prompt_tokens_details": prompt_details,
        "completion_tokens_details": {
            "reasoning_tokens": usage.thinking,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}

/// The counts of output and of all tokens. Some compatible providers count thoughts apart.
pub(super) fn output_counts(usage: SimulatedUsage, style: UsageStyle) -> (u64, u64) {
    let output = if style == UsageStyle::Exclusive {
        usage.output - usage.thinking
    } else {
        usage.output
    };
    (output, usage.input + usage.output)
}

pub fn embeddings(answer: &EmbeddingAnswer, metadata: CompletionMetadata<'_>) -> Value {
    let data: Vec<Value> = answer
        .vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| {
            let embedding = if answer.is_base64 {
                let bytes: Vec<u8> = vector.iter().flat_map(|it| it.to_le_bytes()).collect();
                json!(STANDARD.encode(bytes))
            } else {
                json!(vector)
            };
            json!({"object": "embedding", "index": index, "embedding": embedding})
        })
        .collect();
    let mut body = json!({"object": "list", "data": data, "model": metadata.model});
    if let (Some(usage), Some(body)) = (answer.usage, body.as_object_mut()) {
        let usage = json!({"prompt_tokens": usage.input, "total_tokens": usage.input});
        body.insert("usage".to_owned(), usage);
    }
    body
}
