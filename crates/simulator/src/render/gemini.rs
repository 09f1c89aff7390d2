//! `GenerateContentResponse` and `EmbedContentResponse`: zeros are left out.

use serde_json::{Map, Value, json};

use crate::answer::{Chat, Vectors};
use crate::rule::Finish;

pub fn content(said: &Chat, id: &str, model: &str) -> Value {
    let finish = match &said.finish {
        Finish::End | Finish::Sequence(_) => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::Blocked => "",
        Finish::Refused => "SAFETY",
        Finish::Named(name) => name,
    };
    let mut body = Map::new();
    match &said.text {
        // A blocked prompt has no candidates at all.
        None => {
            body.insert(
                "promptFeedback".to_owned(),
                json!({"blockReason": "SAFETY"}),
            );
        }
        Some(text) => {
            let parts = if text.is_empty() {
                json!([])
            } else {
                json!([{"text": text}])
            };
            let candidate = json!({
                "content": {"parts": parts, "role": "model"},
                "finishReason": finish,
            });
            body.insert("candidates".to_owned(), json!([candidate]));
        }
    }
    if let Some(usage) = said.usage {
        let mut told = Map::new();
        let counts = [
            ("promptTokenCount", usage.input),
            ("candidatesTokenCount", usage.output),
            ("totalTokenCount", usage.input + usage.output),
        ];
        for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            told.insert(name.to_owned(), json!(count));
        }
        body.insert("usageMetadata".to_owned(), Value::Object(told));
    }
    body.insert("modelVersion".to_owned(), json!(model));
    body.insert("responseId".to_owned(), json!(id));
    Value::Object(body)
}

pub fn embedding(answer: &Vectors) -> Value {
    let values = answer.of_inputs.first().cloned().unwrap_or_default();
    let mut body = json!({"embedding": {"values": values}});
    if let (Some(usage), Some(body)) = (answer.usage, body.as_object_mut()) {
        body.insert("tokenCount".to_owned(), json!(usage.input.to_string()));
    }
    body
}
