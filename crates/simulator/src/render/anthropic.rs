//! A message of Anthropic's.

use serde_json::{Value, json};

use crate::answer::Chat;
use crate::rule::Finish;

pub fn message(said: &Chat, id: &str, model: &str, tier: &str) -> Value {
    let (stop, sequence) = match &said.finish {
        Finish::End => ("end_turn", None),
        Finish::Length => ("max_tokens", None),
        Finish::Sequence(text) => ("stop_sequence", Some(text.as_str())),
        Finish::Blocked | Finish::Refused => ("refusal", None),
        Finish::Named(name) => (name.as_str(), None),
    };
    let content: Vec<Value> = said
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
    if let (Some(usage), Some(body)) = (said.usage, body.as_object_mut()) {
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
