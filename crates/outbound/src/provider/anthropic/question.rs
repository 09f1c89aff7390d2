//! One request of a batch.

use domain::params::{Block, Chat, Content, Message, Params};
use serde_json::{Map, Value, json};

use crate::provider::Item;
use crate::provider::media::MediaSource;
use crate::provider::media::Medium;
use crate::provider::media::Unfit;

pub(super) fn encode(
    item: &Item,
    upstream: &str,
    media: &dyn MediaSource,
) -> Result<Vec<u8>, Unfit> {
    let Params::Chat(chat) = &item.params else {
        return Err(Unfit::because("the provider has no embeddings"));
    };
    let line = json!({"custom_id": item.key(), "params": params(chat, upstream, media)?});
    Ok(format!("{line}\n").into_bytes())
}

/// What is wrong in here shows only when the item runs, hours later.
fn params(chat: &Chat, upstream: &str, media: &dyn MediaSource) -> Result<Value, Unfit> {
    let messages: Result<Vec<Value>, Unfit> = chat
        .messages
        .iter()
        .map(|said| message(said, media))
        .collect();
    let mut params = Map::new();
    let mut put = |name: &str, value: Value| params.insert(name.to_owned(), value);
    put("model", json!(upstream));
    put("max_tokens", json!(chat.max_tokens));
    if let Some(system) = &chat.system {
        put("system", json!(system));
    }
    put("messages", Value::Array(messages?));
    if let Some(temperature) = chat.temperature {
        put("temperature", json!(temperature));
    }
    if let Some(top_p) = chat.top_p {
        put("top_p", json!(top_p));
    }
    if let Some(top_k) = chat.top_k {
        put("top_k", json!(top_k));
    }
    if !chat.stop_sequences.is_empty() {
        put("stop_sequences", json!(chat.stop_sequences));
    }
    Ok(Value::Object(params))
}

fn message(message: &Message, media: &dyn MediaSource) -> Result<Value, Unfit> {
    if !matches!(message.role.as_str(), "user" | "assistant") {
        return Err(Unfit::because("a message's role must be user or assistant"));
    }
    let content = match &message.content {
        Content::Text(text) => json!(text),
        Content::Blocks(blocks) => {
            let blocks: Result<Vec<Value>, Unfit> =
                blocks.iter().map(|it| block(it, media)).collect();
            Value::Array(blocks?)
        }
    };
    Ok(json!({"role": message.role, "content": content}))
}

fn block(block: &Block, media: &dyn MediaSource) -> Result<Value, Unfit> {
    let by_url = |url: String| json!({"type": "url", "url": url});
    Ok(match block {
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::Image { source } => {
            let url = Medium::find(source, media)?.url()?;
            json!({"type": "image", "source": by_url(url)})
        }
        Block::Document { source } => {
            let medium = Medium::find(source, media)?;
            let source = if medium.is_pdf() {
                by_url(medium.url()?)
            } else {
                // Markdown and tables are plain text here.
                json!({"type": "text", "media_type": "text/plain", "data": medium.text()?})
            };
            json!({"type": "document", "source": source})
        }
        Block::Video { .. } => return Err(Unfit::because("the model does not read video")),
    })
}
