//! One request of a batch. The model stands in the job's address, not here.

use domain::params::{Block, Chat, Content, Embedding, Message, Params};
use serde_json::{Map, Value, json};

use crate::provider::Item;
use crate::provider::media::MediaSource;
use crate::provider::media::Medium;
use crate::provider::media::Unfit;

pub(super) fn encode(item: &Item, media: &dyn MediaSource) -> Result<Vec<u8>, Unfit> {
    let request = match &item.params {
        Params::Chat(asked) => chat(asked, media)?,
        Params::Embedding(asked) => embedding(asked)?,
    };
    let line = json!({"key": item.key(), "request": request});
    Ok(format!("{line}\n").into_bytes())
}

fn chat(chat: &Chat, media: &dyn MediaSource) -> Result<Value, Unfit> {
    let contents: Result<Vec<Value>, Unfit> = chat
        .messages
        .iter()
        .map(|said| content(said, media))
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

fn config(chat: &Chat) -> Value {
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

fn content(message: &Message, media: &dyn MediaSource) -> Result<Value, Unfit> {
    let role = match message.role.as_str() {
        "user" => "user",
        "assistant" => "model",
        _ => return Err(Unfit::because("a message's role must be user or assistant")),
    };
    let parts = match &message.content {
        Content::Text(text) => vec![json!({"text": text})],
        Content::Blocks(blocks) => {
            let parts: Result<Vec<Value>, Unfit> =
                blocks.iter().map(|it| part(it, media)).collect();
            parts?
        }
    };
    Ok(json!({"role": role, "parts": parts}))
}

/// Media stand in the line itself: what is not a file of its own, Gemini does not fetch.
fn part(block: &Block, media: &dyn MediaSource) -> Result<Value, Unfit> {
    let source = match block {
        Block::Text { text } => return Ok(json!({"text": text})),
        Block::Image { source } | Block::Document { source } | Block::Video { source } => source,
    };
    let medium = Medium::find(source, media)?;
    if matches!(block, Block::Document { .. }) && !medium.is_pdf() {
        return Ok(json!({"text": medium.text()?}));
    }
    let kind = medium.media_type.as_str();
    Ok(json!({"inlineData": {"mimeType": kind, "data": medium.base64()?}}))
}

fn embedding(embedding: &Embedding) -> Result<Value, Unfit> {
    // A line is answered with one vector.
    let [text] = embedding.input_text.texts() else {
        return Err(Unfit::because("the model embeds one text a request"));
    };
    Ok(json!({"content": {"parts": [{"text": text}]}}))
}
