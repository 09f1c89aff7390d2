//! Encodes one request of a batch. The model is in the job's URL, not in the request.

use domain::params::{
    ChatMessage, ChatParams, ContentBlock, EmbeddingParams, MessageContent, Params,
};
use serde_json::{Map, Value, json};

use crate::provider::BatchItem;
use crate::provider::media::MediaFile;
use crate::provider::media::MediaSource;
use crate::provider::media::UnsupportedItem;

pub(super) fn encode(
    item: &BatchItem,
    media: &dyn MediaSource,
) -> Result<Vec<u8>, UnsupportedItem> {
    let request = match &item.params {
        Params::Chat(params) => chat(params, media)?,
        Params::Embedding(params) => embedding(params)?,
    };
    let line = json!({"key": item.key(), "request": request});
    Ok(format!("{line}\n").into_bytes())
}

fn chat(chat: &ChatParams, media: &dyn MediaSource) -> Result<Value, UnsupportedItem> {
    let contents: Result<Vec<Value>, UnsupportedItem> = chat
        .messages
        .iter()
        .map(|turn| content(turn, media))
        .collect();
    let mut request = Map::new();
    if let Some(system) = &chat.system {
        let system = json!({"parts": [{"text": system}]});
        request.insert("systemInstruction".to_owned(), system);
    }
    request.insert("contents".to_owned(), Value::Array(contents?));
    request.insert("generationConfig".to_owned(), config(chat));
    Ok(Value::Object(request))
}

fn config(chat: &ChatParams) -> Value {
    let mut config = Map::new();
    let mut put = |name: &str, value: Value| config.insert(name.to_owned(), value);
    put("maxOutputTokens", json!(chat.max_tokens));
    if let Some(temperature) = chat.temperature {
        put("temperature", json!(temperature));
    }
    if let Some(top_p) = chat.top_p {
        put("topP", json!(top_p));
    }
    if let Some(top_k) = chat.top_k {
        put("topK", json!(top_k));
    }
    if !chat.stop_sequences.is_empty() {
        put("stopSequences", json!(chat.stop_sequences));
    }
    Value::Object(config)
}

fn content(message: &ChatMessage, media: &dyn MediaSource) -> Result<Value, UnsupportedItem> {
    let role = match message.role.as_str() {
        "user" => "user",
        "assistant" => "model",
        _ => {
            return Err(UnsupportedItem::new(
                "a message's role must be user or assistant",
            ));
        }
    };
    let parts = match &message.content {
        MessageContent::Text(text) => vec![json!({"text": text})],
        MessageContent::Blocks(blocks) => {
            let parts: Result<Vec<Value>, UnsupportedItem> =
                blocks.iter().map(|it| part(it, media)).collect();
            parts?
        }
    };
    Ok(json!({"role": role, "parts": parts}))
}

/// Media are inline: Gemini does not fetch external URLs.
fn part(block: &ContentBlock, media: &dyn MediaSource) -> Result<Value, UnsupportedItem> {
    let source = match block {
        ContentBlock::Text { text } => return Ok(json!({"text": text})),
        ContentBlock::Image { source }
        | ContentBlock::Document { source }
        | ContentBlock::Video { source } => source,
    };
    let medium = MediaFile::find(source, media)?;
    if matches!(block, ContentBlock::Document { .. }) && !medium.is_pdf() {
        return Ok(json!({"text": medium.text()?}));
    }
    let kind = medium.media_type.as_str();
    Ok(json!({"inlineData": {"mimeType": kind, "data": medium.base64()?}}))
}

fn embedding(embedding: &EmbeddingParams) -> Result<Value, UnsupportedItem> {
    // Gemini returns one vector per line.
    let [text] = embedding.input_text.texts() else {
        return Err(UnsupportedItem::new(
            "the model accepts one text per embedding request",
        ));
    };
    Ok(json!({"content": {"parts": [{"text": text}]}}))
}
