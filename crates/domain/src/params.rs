//! A caller's request to a model: the contract's `params`, validated.
//!
//! This document is the same in the API, in the row and on the way to a provider, so it is
//! serialized here.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::file;
use crate::id::FileId;
use crate::model::ModelKind;

/// A validated request: chat or embedding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
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
    pub system: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddingParams {
    pub model: String,
    pub input_text: InputText,
}

/// One text, or several that get one vector each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum InputText {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    pub role: String,
    pub content: MessageContent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MessageContent {
    Text(String),
    Blocks(Vec<ContentBlock>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ContentBlock {
    Text { text: String },
    Image { source: FileSource },
    Document { source: FileSource },
    Video { source: FileSource },
}

/// A reference to a stored file, with the id as the caller wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSource {
    pub file_id: String,
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

    /// The bytes of the longest input that is read at once: a whole chat, or one text.
    pub fn longest_input_bytes(&self) -> usize {
        match self {
            Self::Chat(chat) => chat.text_bytes(),
            Self::Embedding(embedding) => {
                let lengths = embedding.input_text.texts().iter().map(String::len);
                lengths.max().unwrap_or_default()
            }
        }
    }

    /// Every reference to a file, in order, with the kind that the file must have.
    pub fn file_references(&self) -> impl Iterator<Item = (file::FileKind, &str)> {
        let messages = match self {
            Self::Chat(chat) => chat.messages.as_slice(),
            Self::Embedding(_) => &[],
        };
        messages
            .iter()
            .flat_map(|message| message.content.blocks())
            .filter_map(ContentBlock::file_reference)
    }

    /// The ids of the referenced files, each once. Malformed ids are skipped.
    pub fn file_ids(&self) -> BTreeSet<FileId> {
        let named = self.file_references();
        named.filter_map(|(_, id)| id.parse().ok()).collect()
    }
}

impl ChatParams {
    /// How long its texts are in bytes, system prompt and roles included.
    pub fn text_bytes(&self) -> usize {
        let said = self.messages.iter().map(|message| {
            message.role.len() + message.content.texts().map(str::len).sum::<usize>()
        });
        self.system.as_ref().map_or(0, String::len) + said.sum::<usize>()
    }
}

impl MessageContent {
    pub fn blocks(&self) -> &[ContentBlock] {
        match self {
            Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks,
        }
    }

    /// Its texts, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let whole = match self {
            Self::Text(text) => Some(text.as_str()),
            Self::Blocks(_) => None,
        };
        whole
            .into_iter()
            .chain(self.blocks().iter().filter_map(|block| match block {
                ContentBlock::Text { text } => Some(text.as_str()),
                ContentBlock::Image { .. }
                | ContentBlock::Document { .. }
                | ContentBlock::Video { .. } => None,
            }))
    }
}

impl ContentBlock {
    fn file_reference(&self) -> Option<(file::FileKind, &str)> {
        match self {
            Self::Text { .. } => None,
            Self::Image { source } => Some((file::FileKind::Image, &source.file_id)),
            Self::Document { source } => Some((file::FileKind::Document, &source.file_id)),
            Self::Video { source } => Some((file::FileKind::Video, &source.file_id)),
        }
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
