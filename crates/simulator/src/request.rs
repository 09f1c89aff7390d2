//! The request of one item, parsed from any provider's format.

use serde_json::Value;

use crate::invalid_request::InvalidRequest;
use crate::prompt::CacheMark;
use crate::provider::SimulatedProvider;
use crate::rule;
use crate::rule::Directives;

mod anthropic;
mod anthropic_content;
mod anthropic_features;
mod gemini;
mod gemini_config;
mod gemini_contents;
mod google_fields;
mod openai;
mod openai_chat;
mod openai_fields;
mod openai_responses;
mod openai_tools;

#[derive(Debug, Clone)]
pub struct ItemRequest {
    pub provider: SimulatedProvider,
    pub model: String,
    /// Bytes of all text in the request.
    pub text_bytes: usize,
    pub task: ItemTask,
}

#[derive(Debug, Clone)]
pub enum ItemTask {
    Chat(Box<ChatTask>),
    Embedding(EmbeddingTask),
}

#[derive(Debug, Clone, Default)]
pub struct ChatTask {
    /// The text of the last user message; in a tool loop, the results of the tools.
    pub last_user_text: String,
    pub max_tokens: Option<u64>,
    pub stops: Vec<String>,
    pub tools: Vec<ToolSpec>,
    pub tool_choice: ToolMode,
    /// The schema of the answer.
    pub format: Option<Value>,
    pub thinking: ThinkingMode,
    /// Whether the answer signs its parts: Gemini's models that verify them.
    pub signs_parts: bool,
    /// Whether the answer has `encrypted_content`.
    pub encrypts_reasoning: bool,
    pub cache_marks: Vec<CacheMark>,
    /// `service_tier` or `serviceTier`.
    pub tier: Option<String>,
}

#[derive(Debug, Clone)]
pub struct ToolSpec {
    pub name: String,
    pub schema: Value,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolMode {
    #[default]
    Auto,
    Off,
    /// The model must call some tool.
    Required,
    /// The model must call this tool.
    Named(String),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThinkingMode {
    #[default]
    Off,
    /// The answer does not contain the thoughts.
    Hidden,
    Shown,
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
    /// `OpenAI`'s `/v1/responses`.
    Responses,
    Embedding,
}

/// How a request is written.
#[derive(Debug, Clone, Copy)]
pub struct RequestFormat<'a> {
    pub provider: SimulatedProvider,
    pub kind: TaskKind,
    /// The model in the URL, where the body does not name it.
    pub model: &'a str,
}

impl ItemRequest {
    /// Parses a request's body. An error says what is wrong with it.
    pub fn parse(format: RequestFormat<'_>, body: &Value) -> Result<Self, InvalidRequest> {
        match format.provider {
            SimulatedProvider::OpenAi | SimulatedProvider::Server => openai::parse(format, body),
            SimulatedProvider::Anthropic => anthropic::parse(body),
            SimulatedProvider::Gemini => gemini::parse(format, body),
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

    pub fn cache_marks(&self) -> &[CacheMark] {
        match &self.task {
            ItemTask::Chat(chat) => &chat.cache_marks,
            ItemTask::Embedding(_) => &[],
        }
    }

    pub fn tier(&self) -> Option<&str> {
        match &self.task {
            ItemTask::Chat(chat) => chat.tier.as_deref(),
            ItemTask::Embedding(_) => None,
        }
    }
}

/// The texts of a content, which is a string or a list of parts.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(part_text).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn part_text(part: &Value) -> Option<&str> {
    part.get("text").and_then(Value::as_str).or(part.as_str())
}

/// The elements of a list. A missing or different value has none.
fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A field that is a string.
fn text_field<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
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

/// Whether a name has only letters, digits, `_` and `-`, and at most 64 of them.
fn is_tool_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}
