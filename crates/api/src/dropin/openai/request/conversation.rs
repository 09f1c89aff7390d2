//! The messages of `params`, built from the messages and items of `OpenAI`'s APIs.
//!
//! There, calls and results of tools are messages or items of their own. In `params` they are
//! blocks: results are the first blocks of the user's message after the calls.

use serde_json::{Map, Value, json};

const USER: &str = "user";
const ASSISTANT: &str = "assistant";

/// Joins the paragraphs of the system prompt, as `SystemPrompt::joined` does.
const PARAGRAPH: &str = "\n\n";

#[derive(Debug, Default)]
pub(super) struct ConversationWriter {
    system: Vec<String>,
    turns: Vec<Turn>,
}

#[derive(Debug)]
struct Turn {
    role: &'static str,
    content: TurnContent,
    /// Whether its first blocks are results of tools: then the user's next words belong to it.
    has_results: bool,
}

/// A text stays a text as long as nothing is added to it.
#[derive(Debug)]
pub(super) enum TurnContent {
    Text(String),
    Blocks(Vec<Value>),
}

impl TurnContent {
    pub(super) fn into_blocks(self) -> Vec<Value> {
        match self {
            Self::Text(text) => vec![json!({"type": "text", "text": text})],
            Self::Blocks(blocks) => blocks,
        }
    }

    fn into_value(self) -> Value {
        match self {
            Self::Text(text) => Value::String(text),
            Self::Blocks(blocks) => Value::Array(blocks),
        }
    }
}

impl ConversationWriter {
    /// Text of the system prompt. Only instructions before the first turn are part of it.
    pub(super) fn add_instructions(&mut self, text: String) {
        self.system.push(text);
    }

    pub(super) const fn has_turns(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The user's words. They follow results of tools in the same message.
    pub(super) fn add_user(&mut self, content: TurnContent) {
        match self.turns.last_mut() {
            Some(turn) if turn.has_results => turn.add_blocks(content.into_blocks()),
            Some(_) | None => self.push(USER, content),
        }
    }

    pub(super) fn add_result(&mut self, block: Value) {
        match self.turns.last_mut() {
            Some(turn) if turn.has_results => turn.add_blocks(vec![block]),
            Some(_) | None => self.turns.push(Turn {
                role: USER,
                content: TurnContent::Blocks(vec![block]),
                has_results: true,
            }),
        }
    }

    /// A whole message of the assistant.
    pub(super) fn add_assistant(&mut self, content: TurnContent) {
        self.push(ASSISTANT, content);
    }

    /// One item of an answer. An answer has several, and they are one message.
    pub(super) fn add_assistant_item(&mut self, content: TurnContent) {
        match self.turns.last_mut() {
            Some(turn) if turn.role == ASSISTANT => turn.add_blocks(content.into_blocks()),
            Some(_) | None => self.push(ASSISTANT, content),
        }
    }

    /// Instructions in the middle of the conversation. Not every model takes them.
    pub(super) fn add_later_instructions(&mut self, role: &'static str, content: TurnContent) {
        self.push(role, content);
    }

    fn push(&mut self, role: &'static str, content: TurnContent) {
        self.turns.push(Turn {
            role,
            content,
            has_results: false,
        });
    }

    /// Writes `system` and `messages` into the params.
    pub(super) fn write(self, params: &mut Map<String, Value>) {
        if !self.system.is_empty() {
            let system = self.system.join(PARAGRAPH);
            params.insert("system".to_owned(), Value::String(system));
        }
        let messages = self.turns.into_iter().map(|turn| {
            let content = turn.content.into_value();
            json!({"role": turn.role, "content": content})
        });
        params.insert("messages".to_owned(), Value::Array(messages.collect()));
    }
}

impl Turn {
    fn add_blocks(&mut self, added: Vec<Value>) {
        let content = std::mem::replace(&mut self.content, TurnContent::Blocks(Vec::new()));
        let mut blocks = content.into_blocks();
        blocks.extend(added);
        self.content = TurnContent::Blocks(blocks);
    }
}
