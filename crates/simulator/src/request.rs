//! The request of one item, parsed from any provider's format.

use serde_json::Value;

use crate::provider::SimulatedProvider;
use crate::rule;
use crate::rule::Directives;

mod anthropic;
mod gemini;
mod openai;

#[derive(Debug, Clone)]
pub struct ItemRequest {
    pub model: String,
    /// Bytes of all text in the request.
    pub text_bytes: usize,
    pub task: ItemTask,
}

#[derive(Debug, Clone)]
pub enum ItemTask {
    Chat(ChatTask),
    Embedding(EmbeddingTask),
}

#[derive(Debug, Clone)]
pub struct ChatTask {
    pub last_user_text: String,
    pub max_tokens: Option<u64>,
    pub stops: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct EmbeddingTask {
    pub inputs: Vec<String>,
    pub dimensions: usize,
    pub is_base64: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    Chat,
    Embedding,
}

impl ItemRequest {
    /// Parses a request's body. An error says what is wrong with it.
    pub fn parse(
        provider: SimulatedProvider,
        kind: TaskKind,
        body: &Value,
    ) -> Result<Self, String> {
        match provider {
            SimulatedProvider::OpenAi | SimulatedProvider::Server => openai::parse(kind, body),
            SimulatedProvider::Anthropic => anthropic::parse(body),
            SimulatedProvider::Gemini => gemini::parse(kind, body),
        }
    }

    pub fn directives(&self) -> Directives {
        match &self.task {
            ItemTask::Chat(chat) => Directives::read(&chat.last_user_text),
            ItemTask::Embedding(embedding) => {
                let last = embedding.inputs.last();
                Directives::read(last.map(String::as_str).unwrap_or_default())
            }
        }
    }

    pub fn input_tokens(&self) -> u64 {
        rule::input_tokens(self.text_bytes)
    }
}

/// The texts of a content, which is a string or a list of parts.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Value::as_str).or(part.as_str()))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn count_bytes(texts: &[&str]) -> usize {
    texts.iter().map(|text| text.len()).sum()
}

/// A string or a list of strings.
fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many
            .iter()
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}
