//! What is asked.

use domain::model::Kind;
use domain::params::{Block, Chat, Content, Embedding, InputText, Message, Params};
use serde_json::{Map, Value, json};

use crate::provider::media::MediaSource;
use crate::provider::media::Medium;
use crate::provider::media::Unfit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider) enum Dialect {
    /// Knows no `top_k` and no video, and reads PDFs.
    OpenAi,
    /// Knows `top_k` and, if the model does, video; PDFs it does not read.
    Server,
}

/// Behind `/v1`.
pub(in crate::provider) const fn path(kind: Kind) -> &'static str {
    match kind {
        Kind::Chat => "/chat/completions",
        Kind::Embedding => "/embeddings",
    }
}

pub(in crate::provider) fn body(
    params: &Params,
    upstream: &str,
    media: &dyn MediaSource,
    dialect: Dialect,
) -> Result<Value, Unfit> {
    match params {
        Params::Chat(asked) => chat(asked, upstream, media, dialect),
        Params::Embedding(asked) => Ok(embedding(asked, upstream)),
    }
}

fn chat(
    chat: &Chat,
    upstream: &str,
    media: &dyn MediaSource,
    dialect: Dialect,
) -> Result<Value, Unfit> {
    let mut messages = Vec::with_capacity(chat.messages.len() + 1);
    if let Some(system) = &chat.system {
        messages.push(json!({"role": "system", "content": system}));
    }
    for said in &chat.messages {
        messages.push(message(said, media, dialect)?);
    }
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("model", json!(upstream));
    put("messages", Value::Array(messages));
    // Reasoning models refuse the old name; older servers know no other.
    let most = match dialect {
        Dialect::OpenAi => "max_completion_tokens",
        Dialect::Server => "max_tokens",
    };
    put(most, json!(chat.max_tokens));
    if let Some(temperature) = chat.temperature {
        put("temperature", json!(temperature));
    }
    if let Some(top_p) = chat.top_p {
        put("top_p", json!(top_p));
    }
    if let (Some(top_k), Dialect::Server) = (chat.top_k, dialect) {
        put("top_k", json!(top_k));
    }
    if !chat.stop_sequences.is_empty() {
        put("stop", json!(chat.stop_sequences));
    }
    Ok(Value::Object(body))
}

fn message(message: &Message, media: &dyn MediaSource, dialect: Dialect) -> Result<Value, Unfit> {
    let content = match &message.content {
        Content::Text(text) => json!(text),
        Content::Blocks(blocks) => {
            let parts: Result<Vec<Value>, Unfit> = blocks
                .iter()
                .map(|block| part(block, media, dialect))
                .collect();
            Value::Array(parts?)
        }
    };
    Ok(json!({"role": message.role, "content": content}))
}

fn part(block: &Block, media: &dyn MediaSource, dialect: Dialect) -> Result<Value, Unfit> {
    Ok(match block {
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::Image { source } => {
            let url = Medium::find(source, media)?.url()?;
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        Block::Document { source } => {
            let medium = Medium::find(source, media)?;
            if !medium.is_pdf() {
                return Ok(json!({"type": "text", "text": medium.text()?}));
            }
            if dialect == Dialect::Server {
                return Err(Unfit::because("the model does not read PDF documents"));
            }
            let data = format!("data:application/pdf;base64,{}", medium.base64()?);
            let name = format!("{}.pdf", medium.file);
            json!({"type": "file", "file": {"filename": name, "file_data": data}})
        }
        Block::Video { .. } if dialect == Dialect::OpenAi => {
            return Err(Unfit::because("the model does not read video"));
        }
        Block::Video { source } => {
            let url = Medium::find(source, media)?.url()?;
            json!({"type": "video_url", "video_url": {"url": url}})
        }
    })
}

fn embedding(embedding: &Embedding, upstream: &str) -> Value {
    let input = match &embedding.input_text {
        InputText::One(text) => json!(text),
        InputText::Many(texts) => json!(texts),
    };
    json!({"model": upstream, "input": input, "encoding_format": "float"})
}
