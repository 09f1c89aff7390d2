//! Anthropic's message.

use serde_json::{Value, json};

use crate::answer::ChatAnswer;
use crate::rule::FinishReason;

pub fn message(answer: &ChatAnswer, id: &str, model: &str, tier: &str) -> Value {
    let (stop, sequence) = match &answer.finish_reason {
        FinishReason::End => ("end_turn", None),
        FinishReason::Length => ("max_tokens", None),
        FinishReason::StopSequence(text) => ("stop_sequence", Some(text.as_str())),
        FinishReason::Blocked | FinishReason::Refused => ("refusal", None),
        FinishReason::Named(name) => (name.as_str(), None),
    };
    let content: Vec<Value> = answer
        .text
        .iter()
        .map(|text| json!({"type": "text", "text": text}))
        .collect();
    let mut body = json!({
        "id": format!("msg_{id}"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": sequence,
    });
    if let (Some(usage), Some(body)) = (answer.usage, body.as_object_mut()) {
        let usage = json!({
            "input_tokens": usage.input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": usage.output,
            "service_tier": tier,
        });
        body.insert("usage".to_owned(), usage);
    }
    body
}
