//! What one item asks, whoever's shape it came in.

use serde_json::Value;

use crate::provider::Provider;
use crate::rule;
use crate::rule::Directives;

mod anthropic;
mod gemini;
mod openai;

#[derive(Debug, Clone)]
pub struct Question {
    pub model: String,
    /// Bytes of all text in the request.
    pub text_bytes: usize,
    pub task: Task,
}

#[derive(Debug, Clone)]
pub enum Task {
    Chat(Chat),
    Embedding(Embedding),
}

#[derive(Debug, Clone)]
pub struct Chat {
    pub last_user_text: String,
    pub max_tokens: Option<u64>,
    pub stops: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Embedding {
    pub inputs: Vec<String>,
    pub dimensions: usize,
    pub is_base64: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Chat,
    Embedding,
}

impl Question {
    /// Reads a request's body, or says what is wrong with it.
    pub fn read(provider: Provider, kind: Kind, body: &Value) -> Result<Self, String> {
        match provider {
            Provider::OpenAi | Provider::Server => openai::read(kind, body),
            Provider::Anthropic => anthropic::read(body),
            Provider::Gemini => gemini::read(kind, body),
        }
    }

    pub fn directives(&self) -> Directives {
        match &self.task {
            Task::Chat(chat) => Directives::read(&chat.last_user_text),
            Task::Embedding(embedding) => {
                let last = embedding.inputs.last();
                Directives::read(last.map(String::as_str).unwrap_or_default())
            }
        }
    }

    pub fn input_tokens(&self) -> u64 {
        rule::input_tokens(self.text_bytes)
    }
}

/// The texts of a content that is a string or a list of parts.
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

fn bytes(texts: &[&str]) -> usize {
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
