//! An answer in the format of Chat Completions.

use domain::outcome::{ChatCompletion, CompletionBlock, StopReason};
use serde_json::{Map, Value, json};

use super::AnswerIdentity;
use super::usage::chat_usage;

/// Thoughts are left out: the format has no place for them, and takes none back.
pub(super) fn write(answer: &ChatCompletion, identity: &AnswerIdentity) -> Value {
    let choice = json!({
        "index": 0,
        "message": message(answer),
        "logprobs": null,
        "finish_reason": finish_reason(answer.stop_reason),
    });
    json!({
        "id": format!("chatcmpl-{}", identity.hex()),
        "object": "chat.completion",
        "created": identity.created,
        "model": answer.model,
        "choices": [choice],
        "usage": chat_usage(answer.usage),
        "service_tier": "default",
        "system_fingerprint": null,
    })
}

const fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn | StopReason::StopSequence | StopReason::Refusal => "stop",
        StopReason::MaxTokens => "length",
        StopReason::ToolUse => "tool_calls",
    }
}

fn message(answer: &ChatCompletion) -> Value {
    let texts = answer.content.iter().filter_map(CompletionBlock::text);
    let text: String = texts.collect();
    let calls: Vec<Value> = answer.content.iter().filter_map(tool_call).collect();
    let is_refusal = answer.stop_reason == StopReason::Refusal;
    let has_text = !text.is_empty() || (calls.is_empty() && !is_refusal);
    let (content, refusal) = if is_refusal {
        let explanation = answer.stop_details.as_ref();
        let explanation = explanation.and_then(|it| it.explanation.clone());
        let refusal = Some(text).filter(|text| !text.is_empty());
        (None, refusal.or(explanation))
    } else {
        (has_text.then_some(text), None)
    };
    let refusal = refusal.or_else(|| is_refusal.then(|| "The model refused.".to_owned()));
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), json!(content));
    message.insert("refusal".to_owned(), json!(refusal));
    message.insert("annotations".to_owned(), json!([]));
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Value::Object(message)
}

fn tool_call(block: &CompletionBlock) -> Option<Value> {
    match block {
        CompletionBlock::ToolUse { id, name, input } => Some(json!({
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": arguments(input)},
        })),
        CompletionBlock::Text { .. }
        | CompletionBlock::Thinking { .. }
        | CompletionBlock::RedactedThinking { .. } => None,
    }
}

/// The arguments as text. What was no JSON object is given back as the model wrote it.
pub(super) fn arguments(input: &Map<String, Value>) -> String {
    let raw = input.get("_raw").and_then(Value::as_str);
    match raw.filter(|_| input.len() == 1) {
        Some(raw) => raw.to_owned(),
        None => json!(input).to_string(),
    }
}
