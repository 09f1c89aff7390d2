//! `GenerateContentResponse` and `EmbedContentResponse`. Zeros are omitted.

use serde_json::{Map, Value, json};

use crate::answer::{ChatAnswer, EmbeddingAnswer};
use crate::rule::FinishReason;

pub fn content(answer: &ChatAnswer, id: &str, model: &str) -> Value {
    let finish = match &answer.finish_reason {
        FinishReason::End | FinishReason::StopSequence(_) => "STOP",
        FinishReason::Length => "MAX_TOKENS",
        FinishReason::Blocked => "",
        FinishReason::Refused => "SAFETY",
        FinishReason::Named(name) => name,
    };
    let mut body = Map::new();
    match &answer.text {
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
    if let Some(usage) = answer.usage {
        let mut metadata = Map::new();
        let counts = [
            ("promptTokenCount", usage.input),
            ("candidatesTokenCount", usage.output),
            ("totalTokenCount", usage.input + usage.output),
        ];
        for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            metadata.insert(name.to_owned(), json!(count));
        }
        body.insert("usageMetadata".to_owned(), Value::Object(metadata));
    }
    body.insert("modelVersion".to_owned(), json!(model));
    body.insert("responseId".to_owned(), json!(id));
    Value::Object(body)
}

pub fn embedding(answer: &EmbeddingAnswer) -> Value {
    let values = answer.vectors.first().cloned().unwrap_or_default();
    let mut body = json!({"embedding": {"values": values}});
    if let (Some(usage), Some(body)) = (answer.usage, body.as_object_mut()) {
        body.insert("tokenCount".to_owned(), json!(usage.input.to_string()));
    }
    body
}
