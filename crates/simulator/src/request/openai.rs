//! Bodies of `OpenAI` and of compatible servers.

use serde_json::Value;

use super::{
    ChatTask, EmbeddingTask, ItemRequest, ItemTask, TaskKind, count_bytes, strings, texts,
};
use crate::rule::DEFAULT_DIMENSIONS;

pub(super) fn parse(kind: TaskKind, body: &Value) -> Result<ItemRequest, String> {
    let model = body.get("model").and_then(Value::as_str);
    let model = model
        .ok_or("you must provide a model parameter")?
        .to_owned();
    if body.get("stream").and_then(Value::as_bool) == Some(true) {
        return Err("streaming is not simulated".to_owned());
    }
    let (text_bytes, task) = match kind {
        TaskKind::Chat => chat(body)?,
        TaskKind::Embedding => embedding(body)?,
    };
    Ok(ItemRequest {
        model,
        text_bytes,
        task,
    })
}

fn chat(body: &Value) -> Result<(usize, ItemTask), String> {
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages
        .filter(|list| !list.is_empty())
        .ok_or("missing required parameter: 'messages'")?;
    let mut text_bytes = 0;
    let mut last_user_text = String::new();
    for message in messages {
        let content = texts(message.get("content").unwrap_or(&Value::Null));
        text_bytes += count_bytes(&content);
        if message.get("role").and_then(Value::as_str) == Some("user") {
            last_user_text = content.join("\n");
        }
    }
    let names = ["max_completion_tokens", "max_tokens"];
    let max_tokens = names.iter().find_map(|name| body.get(*name)?.as_u64());
    let chat = ChatTask {
        last_user_text,
        max_tokens,
        stops: strings(body.get("stop")),
    };
    Ok((text_bytes, ItemTask::Chat(chat)))
}

fn embedding(body: &Value) -> Result<(usize, ItemTask), String> {
    let input = body.get("input").unwrap_or(&Value::Null);
    let inputs = match input {
        Value::String(one) => vec![one.clone()],
        // An array of numbers is one input as tokens.
        Value::Array(many) if many.iter().all(Value::is_number) && !many.is_empty() => {
            vec![input.to_string()]
        }
        Value::Array(many) => many
            .iter()
            .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    if inputs.is_empty() || inputs.iter().any(String::is_empty) {
        return Err("'$.input' is invalid".to_owned());
    }
    if inputs.len() > 2048 {
        return Err("'$.input' has more than 2048 items".to_owned());
    }
    let requested = body.get("dimensions").and_then(Value::as_u64);
    let dimensions = requested.and_then(|it| usize::try_from(it).ok());
    let embedding = EmbeddingTask {
        dimensions: dimensions.unwrap_or(DEFAULT_DIMENSIONS),
        is_base64: body.get("encoding_format").and_then(Value::as_str) == Some("base64"),
        inputs,
    };
    let text_bytes = embedding.inputs.iter().map(String::len).sum();
    Ok((text_bytes, ItemTask::Embedding(embedding)))
}
