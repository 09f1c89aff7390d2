//! What is answered.

use domain::outcome::StopReason;
use serde::Deserialize;
use serde_json::Value;

use crate::provider::ending::{self, ItemEnd, Stop};
use crate::provider::key::ItemKey;

#[derive(Debug, Deserialize)]
struct Answer {
    /// Of a chat.
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    /// Of embeddings.
    #[serde(default)]
    data: Option<Vec<Vector>>,
    /// Whatever stands there: nonsense in it must not cost the answer.
    #[serde(default)]
    usage: Value,
}

#[derive(Debug, Deserialize)]
struct Choice {
    message: Message,
    #[serde(default)]
    finish_reason: Option<String>,
    /// vLLM: what it stopped at. A number is a token of the model's own.
    #[serde(default)]
    stop_reason: Value,
    /// The same, of `SGLang`.
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
struct Vector {
    #[serde(default)]
    index: usize,
    embedding: Vec<f32>,
}

/// A good answer's body; what is none goes again.
pub(in crate::provider) fn read(body: &str, key: ItemKey, model: &str) -> ItemEnd {
    let Ok(answer) = serde_json::from_str::<Answer>(body) else {
        return unreadable();
    };
    let count = |name: &str| answer.usage.get(name).and_then(Value::as_u64);
    let input = count("prompt_tokens");
    if let Some(mut vectors) = answer.data {
        vectors.sort_by_key(|vector| vector.index);
        let vectors = vectors.into_iter().map(|vector| vector.embedding);
        return ending::embedding(key, model, vectors.collect(), ending::usage(input, Some(0)));
    }
    let choice = answer.choices.and_then(|it| it.into_iter().next());
    let Some(choice) = choice else {
        return unreadable();
    };
    let usage = ending::usage(input, count("completion_tokens"));
    let stop = choice.stop();
    let text = choice.message.content.filter(|text| !text.is_empty());
    let text = text.or(choice.message.refusal).unwrap_or_default();
    ending::chat(key, model, text, stop, usage)
}

fn unreadable() -> ItemEnd {
    ItemEnd::again("the answer cannot be read")
}

impl Choice {
    fn stop(&self) -> Stop {
        match self.finish_reason.as_deref() {
            Some("stop") | None
                if self.stop_reason.is_string() || self.matched_stop.is_string() =>
            {
                Stop::Reason(StopReason::StopSequence)
            }
            Some("length") => Stop::Reason(StopReason::MaxTokens),
            Some("content_filter") => Stop::Blocked("content_filter".to_owned()),
            Some("tool_calls") => Stop::Unoffered("tool_calls".to_owned()),
            Some("function_call") => Stop::Unoffered("function_call".to_owned()),
            // Other names came after us: what was said is still an answer.
            Some(_) | None => Stop::Reason(StopReason::EndTurn),
        }
    }
}
