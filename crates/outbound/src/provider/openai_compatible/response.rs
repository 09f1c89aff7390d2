//! Parses chat completions and embeddings.

use domain::outcome::StopReason;
use serde::Deserialize;
use serde_json::Value;

use crate::provider::item_key::ItemKey;
use crate::provider::item_result::{self, ItemResult, ModelStop};

#[derive(Debug, Deserialize)]
struct CompletionResponse {
    /// Present for a chat.
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    /// Present for embeddings.
    #[serde(default)]
    data: Option<Vec<EmbeddingVector>>,
    /// Untyped: invalid usage must not make the whole response unreadable.
    #[serde(default)]
    usage: Value,
}

#[derive(Debug, Deserialize)]
struct Choice {
    message: Message,
    #[serde(default)]
    finish_reason: Option<String>,
    /// vLLM: the stop sequence as text, or a stop token of the model as a number.
    #[serde(default)]
    stop_reason: Value,
    /// The same from `SGLang`.
    #[serde(default)]
    matched_stop: Value,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
}

#[derive(Debug, Deserialize)]
struct EmbeddingVector {
    #[serde(default)]
    index: usize,
    embedding: Vec<f32>,
}

/// Parses the body of a success response. An unreadable body leads to a retry.
pub(in crate::provider) fn parse_response(body: &str, key: ItemKey, model: &str) -> ItemResult {
    let Ok(answer) = serde_json::from_str::<CompletionResponse>(body) else {
        return unreadable_response();
    };
    let count = |name: &str| answer.usage.get(name).and_then(Value::as_u64);
    let input = count("prompt_tokens");
    if let Some(mut vectors) = answer.data {
        vectors.sort_by_key(|vector| vector.index);
        let vectors = vectors.into_iter().map(|vector| vector.embedding);
        return item_result::embedding_result(
            key,
            model,
            vectors.collect(),
            item_result::plausible_usage(input, Some(0)),
        );
    }
    let choice = answer.choices.and_then(|it| it.into_iter().next());
    let Some(choice) = choice else {
        return unreadable_response();
    };
    let usage = item_result::plausible_usage(input, count("completion_tokens"));
    let stop = choice.stop();
    let text = choice.message.content.filter(|text| !text.is_empty());
    let text = text.or(choice.message.refusal).unwrap_or_default();
    item_result::chat_result(key, model, text, stop, usage)
}

fn unreadable_response() -> ItemResult {
    ItemResult::retry("the response cannot be parsed")
}

impl Choice {
    fn stop(&self) -> ModelStop {
        match self.finish_reason.as_deref() {
            Some("stop") | None
                if self.stop_reason.is_string() || self.matched_stop.is_string() =>
            {
                ModelStop::Reason(StopReason::StopSequence)
            }
            Some("length") => ModelStop::Reason(StopReason::MaxTokens),
            Some("content_filter") => ModelStop::Blocked("content_filter".to_owned()),
            Some("tool_calls") => ModelStop::Unsupported("tool_calls".to_owned()),
            Some("function_call") => ModelStop::Unsupported("function_call".to_owned()),
            // Unknown newer reasons: the text is still an answer.
            Some(_) | None => ModelStop::Reason(StopReason::EndTurn),
        }
    }
}
