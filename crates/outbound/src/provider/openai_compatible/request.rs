//! Builds chat and embedding requests.

use domain::model::ModelKind;
use domain::params::{
    ChatMessage, ChatParams, ContentBlock, EmbeddingParams, InputText, MessageContent, Params,
};
use serde_json::{Map, Value, json};

use crate::provider::media::MediaFile;
use crate::provider::media::MediaSource;
use crate::provider::media::UnsupportedItem;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider) enum ApiDialect {
    /// No `top_k`, no video; reads PDFs.
    OpenAi,
    /// `top_k`, and video if the model supports it; no PDFs.
    SelfHosted,
}

/// The path below `/v1`.
pub(in crate::provider) const fn endpoint_path(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Chat => "/chat/completions",
        ModelKind::Embedding => "/embeddings",
    }
}

pub(in crate::provider) fn request_body(
    params: &Params,
    upstream: &str,
    media: &dyn MediaSource,
    dialect: ApiDialect,
) -> Result<Value, UnsupportedItem> {
    match params {
        Params::Chat(params) => chat(params, upstream, media, dialect),
        Params::Embedding(params) => Ok(embedding(params, upstream)),
    }
}

fn chat(
    chat: &ChatParams,
    upstream: &str,
    media: &dyn MediaSource,
    dialect: ApiDialect,
) -> Result<Value, UnsupportedItem> {
    let mut messages = Vec::with_capacity(chat.messages.len() + 1);
    if let Some(system) = &chat.system {
        messages.push(json!({"role": "system", "content": system}));
    }
    for turn in &chat.messages {
        messages.push(message(turn, media, dialect)?);
    }
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("model", json!(upstream));
    put("messages", Value::Array(messages));
    // Reasoning models refuse the old name; older servers know no other.
    let max_tokens = match dialect {
        ApiDialect::OpenAi => "max_completion_tokens",
        ApiDialect::SelfHosted => "max_tokens",
    };
    put(max_tokens, json!(chat.max_tokens));
    if let Some(temperature) = chat.temperature {
        put("temperature", json!(temperature));
    }
    if let Some(top_p) = chat.top_p {
        put("top_p", json!(top_p));
    }
    if let (Some(top_k), ApiDialect::SelfHosted) = (chat.top_k, dialect) {
        put("top_k", json!(top_k));
    }
    if !chat.stop_sequences.is_empty() {
        put("stop", json!(chat.stop_sequences));
    }
    Ok(Value::Object(body))
}

fn message(
    message: &ChatMessage,
    media: &dyn MediaSource,
    dialect: ApiDialect,
) -> Result<Value, UnsupportedItem> {
    let content = match &message.content {
        MessageContent::Text(text) => json!(text),
        MessageContent::Blocks(blocks) => {
            let parts: Result<Vec<Value>, UnsupportedItem> = blocks
                .iter()
                .map(|block| part(block, media, dialect))
                .collect();
            Value::Array(parts?)
        }
    };
    Ok(json!({"role": message.role, "content": content}))
}

fn part(
    block: &ContentBlock,
    media: &dyn MediaSource,
    dialect: ApiDialect,
) -> Result<Value, UnsupportedItem> {
    Ok(match block {
        ContentBlock::Text { text } => json!({"type": "text", "text": text}),
        ContentBlock::Image { source } => {
            let url = MediaFile::find(source, media)?.url()?;
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        ContentBlock::Document { source } => {
            let medium = MediaFile::find(source, media)?;
            if !medium.is_pdf() {
                return Ok(json!({"type": "text", "text": medium.text()?}));
            }
            if dialect == ApiDialect::SelfHosted {
                return Err(UnsupportedItem::new(
                    "the model does not support PDF documents",
                ));
            }
            let data = format!("data:application/pdf;base64,{}", medium.base64()?);
            let name = format!("{}.pdf", medium.file);
            json!({"type": "file", "file": {"filename": name, "file_data": data}})
        }
        ContentBlock::Video { .. } if dialect == ApiDialect::OpenAi => {
            return Err(UnsupportedItem::new("the model does not support video"));
        }
        ContentBlock::Video { source } => {
            let url = MediaFile::find(source, media)?.url()?;
            json!({"type": "video_url", "video_url": {"url": url}})
        }
    })
}

fn embedding(embedding: &EmbeddingParams, upstream: &str) -> Value {
    let input = match &embedding.input_text {
        InputText::One(text) => json!(text),
        InputText::Many(texts) => json!(texts),
    };
    json!({"model": upstream, "input": input, "encoding_format": "float"})
}
