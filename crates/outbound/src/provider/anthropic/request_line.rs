//! Encodes one request of a batch.

use domain::params::{ChatMessage, ChatParams, ContentBlock, MessageContent, Params};
use serde_json::{Map, Value, json};

use crate::provider::BatchItem;
use crate::provider::media::MediaFile;
use crate::provider::media::MediaSource;
use crate::provider::media::UnsupportedItem;

pub(super) fn encode(
    item: &BatchItem,
    upstream: &str,
    media: &dyn MediaSource,
) -> Result<Vec<u8>, UnsupportedItem> {
    let Params::Chat(chat) = &item.params else {
        return Err(UnsupportedItem::new(
            "the provider does not offer embeddings",
        ));
    };
    let line = json!({"custom_id": item.key(), "params": params(chat, upstream, media)?});
    Ok(format!("{line}\n").into_bytes())
}

/// The provider validates these only when the item runs, hours later.
fn params(
    chat: &ChatParams,
    upstream: &str,
    media: &dyn MediaSource,
) -> Result<Value, UnsupportedItem> {
    let messages: Result<Vec<Value>, UnsupportedItem> = chat
        .messages
        .iter()
        .map(|turn| message(turn, media))
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

fn message(message: &ChatMessage, media: &dyn MediaSource) -> Result<Value, UnsupportedItem> {
    if !matches!(message.role.as_str(), "user" | "assistant") {
        return Err(UnsupportedItem::new(
            "a message's role must be user or assistant",
        ));
    }
    let content = match &message.content {
        MessageContent::Text(text) => json!(text),
        MessageContent::Blocks(blocks) => {
            let blocks: Result<Vec<Value>, UnsupportedItem> =
                blocks.iter().map(|it| block(it, media)).collect();
            Value::Array(blocks?)
        }
    };
    Ok(json!({"role": message.role, "content": content}))
}

fn block(block: &ContentBlock, media: &dyn MediaSource) -> Result<Value, UnsupportedItem> {
    let by_url = |url: String| json!({"type": "url", "url": url});
    Ok(match block {
        ContentBlock::Text { text } => json!({"type": "text", "text": text}),
        ContentBlock::Image { source } => {
            let url = MediaFile::find(source, media)?.url()?;
            json!({"type": "image", "source": by_url(url)})
        }
        ContentBlock::Document { source } => {
            let medium = MediaFile::find(source, media)?;
            let source = if medium.is_pdf() {
                by_url(medium.url()?)
            } else {
                // Anthropic takes Markdown and CSV as plain text.
                json!({"type": "text", "media_type": "text/plain", "data": medium.text()?})
            };
            json!({"type": "document", "source": source})
        }
        ContentBlock::Video { .. } => {
            return Err(UnsupportedItem::new("the model does not support video"));
        }
    })
}
