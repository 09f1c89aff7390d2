//! A caller's request to a model: the contract's `params` and our superset of it, validated.
//!
//! This document is the same in the API, in the row and on the way to a provider, so it is
//! serialized here.

pub mod cache_control;
pub mod content;
pub mod thinking;
pub mod tools;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::file;
use crate::id::FileId;
use crate::model::ModelKind;
use crate::params::cache_control::CacheControl;
use crate::params::content::{ChatMessage, ContentBlock, SystemBlock, SystemPrompt};
use crate::params::thinking::{OutputConfig, OutputFormat, Thinking};
use crate::params::tools::{Tool, ToolChoice};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(
    clippy::large_enum_variant,
    reason = "almost every request is a chat, and none is kept in large numbers"
)]
pub enum Params {
    Chat(ChatParams),
    Embedding(EmbeddingParams),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatParams {
    pub model: String,
    pub max_tokens: u32,
    pub messages: Vec<ChatMessage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemPrompt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_config: Option<OutputConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// Caches the prompt up to its last block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// Fields for one kind of provider, by the name of the kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub provider_options: BTreeMap<String, Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddingParams {
    pub model: String,
    pub input_text: InputText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_type: Option<EmbeddingInputType>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum InputText {
    One(String),
    Many(Vec<String>),
}

/// What the vectors are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddingInputType {
    Query,
    Document,
    Similarity,
    Classification,
    Clustering,
}

impl Params {
    pub fn model(&self) -> &str {
        match self {
            Self::Chat(chat) => &chat.model,
            Self::Embedding(embedding) => &embedding.model,
        }
    }

    pub const fn kind(&self) -> ModelKind {
        match self {
            Self::Chat(_) => ModelKind::Chat,
            Self::Embedding(_) => ModelKind::Embedding,
        }
    }

    /// The bytes of the longest text that the model reads at once: a chat as a whole, texts of an
    /// embedding one by one.
    pub fn longest_input_bytes(&self) -> usize {
        match self {
            Self::Chat(chat) => chat.text_bytes(),
            Self::Embedding(embedding) => {
                let lengths = embedding.input_text.texts().iter().map(String::len);
                lengths.max().unwrap_or_default()
            }
        }
    }

    /// The referenced files in reading order, those in results of tools included.
    pub fn file_references(&self) -> impl Iterator<Item = (file::FileKind, &str)> {
        let messages = match self {
            Self::Chat(chat) => chat.messages.as_slice(),
            Self::Embedding(_) => &[],
        };
        messages
            .iter()
            .flat_map(|message| message.content.blocks())
            .flat_map(|block| std::iter::once(block).chain(block.nested()))
            .filter_map(ContentBlock::file_reference)
    }

    /// The distinct file ids. An id that cannot be parsed is left out: there is no such file.
    pub fn file_ids(&self) -> BTreeSet<FileId> {
        let named = self.file_references();
        named.filter_map(|(_, id)| id.parse().ok()).collect()
    }
}

impl ChatParams {
    /// The bytes of everything that the model reads as text: roles, messages, the system prompt,
    /// tools and schemas. Files do not count.
    pub fn text_bytes(&self) -> usize {
        let said = self.messages.iter().map(|message| {
            let blocks = message.content.blocks().iter();
            let whole = match &message.content {
                content::MessageContent::Text(text) => text.len(),
                content::MessageContent::Blocks(_) => 0,
            };
            message.role.len() + whole + blocks.map(ContentBlock::text_bytes).sum::<usize>()
        });
        self.system_bytes() + said.sum::<usize>() + self.schema_bytes()
    }

    fn system_bytes(&self) -> usize {
        match &self.system {
            None => 0,
            Some(SystemPrompt::Text(text)) => text.len(),
            Some(SystemPrompt::Blocks(blocks)) => {
                blocks.iter().map(|block| block.text().len()).sum()
            }
        }
    }

    /// The bytes of tools and of the schema of the answer.
    pub fn schema_bytes(&self) -> usize {
        let tools = self.tools.iter().map(|tool| {
            let description = tool.description.as_ref().map_or(0, String::len);
            tool.name.len() + description + content::json_bytes(&tool.input_schema)
        });
        let format = self.output_format().map_or(0, |format| {
            let OutputFormat::JsonSchema { schema, .. } = format;
            content::json_bytes(schema)
        });
        tools.sum::<usize>() + format
    }

    pub fn output_format(&self) -> Option<&OutputFormat> {
        self.output_config.as_ref()?.format.as_ref()
    }

    /// The blocks of all messages, without those inside results of tools.
    pub fn blocks(&self) -> impl Iterator<Item = &ContentBlock> {
        self.messages
            .iter()
            .flat_map(|message| message.content.blocks())
    }

    /// All marks of what to cache, without their order.
    pub fn cache_marks(&self) -> impl Iterator<Item = CacheControl> {
        let system = self.system.iter().flat_map(SystemPrompt::blocks);
        let blocks = self
            .blocks()
            .flat_map(|block| std::iter::once(block).chain(block.nested()));
        self.cache_control
            .into_iter()
            .chain(system.filter_map(SystemBlock::cache_control))
            .chain(self.tools.iter().filter_map(|tool| tool.cache_control))
            .chain(blocks.filter_map(ContentBlock::cache_control))
    }

    /// Whether the request uses a field or block whose answer goes beyond the contract: tools,
    /// thinking or `output_config`. Only its answer may contain more blocks and stop reasons than
    /// the contract says.
    pub fn is_extended(&self) -> bool {
        !self.tools.is_empty()
            || self.tool_choice.is_some()
            || self.thinking.is_some()
            || self.output_config.is_some()
            || self.blocks().any(|block| {
                matches!(
                    block,
                    ContentBlock::ToolUse { .. }
                        | ContentBlock::ToolResult { .. }
                        | ContentBlock::Thinking { .. }
                        | ContentBlock::RedactedThinking { .. }
                )
            })
    }
}

impl InputText {
    pub const fn texts(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts.as_slice(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_is_the_wire_form() {
        let json = r#"{"model":"svc-mock","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"a\u0000b"},{"type":"image","source":{"file_id":"file_1"}}]}],"temperature":0.5}"#;
        let params: Params = serde_json::from_str(json).unwrap();
        assert_eq!(params.kind(), ModelKind::Chat);
        assert_eq!(
            params.file_references().collect::<Vec<_>>(),
            [(file::FileKind::Image, "file_1")]
        );
        assert_eq!(serde_json::to_string(&params).unwrap(), json);
    }

    #[test]
    fn a_file_that_is_referenced_twice_is_one_file() {
        let id = |digit: u8| format!("file_{digit:032x}");
        let block =
            |kind: &str, id: &str| serde_json::json!({"type": kind, "source": {"file_id": id}});
        let (first, second) = (id(1), id(2));
        let blocks = [
            block("image", &second),
            block("document", &first),
            block("image", &second),
            block("video", "nonsense"),
        ];
        let json = serde_json::json!({
            "model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": blocks}],
        });
        let params: Params = serde_json::from_value(json).unwrap();
        assert_eq!(params.file_references().count(), 4);
        let files: Vec<String> = params.file_ids().iter().map(ToString::to_string).collect();
        assert_eq!(files, [first, second]);
    }

    #[test]
    fn an_embedding_takes_one_text_or_several() {
        let json = r#"{"model":"e","input_text":["a","b"]}"#;
        let Params::Embedding(embedding) = serde_json::from_str(json).unwrap() else {
            panic!("not an embedding")
        };
        assert_eq!(embedding.input_text.texts(), ["a", "b"]);
    }

    #[test]
    fn a_chat_is_read_at_once_and_texts_one_by_one() {
        let longest = |json: &str| {
            serde_json::from_str::<Params>(json)
                .unwrap()
                .longest_input_bytes()
        };
        let chat = r#"{"model":"m","max_tokens":5,"system":"é","messages":[{"role":"user","content":"abc"},{"role":"user","content":[{"type":"text","text":"de"},{"type":"image","source":{"file_id":"f"}}]}]}"#;
        assert_eq!(longest(chat), 2 + 4 + 3 + 4 + 2);
        assert_eq!(longest(r#"{"model":"e","input_text":["abc","é"]}"#), 3);
        assert_eq!(longest(r#"{"model":"e","input_text":"ab"}"#), 2);
    }
}
