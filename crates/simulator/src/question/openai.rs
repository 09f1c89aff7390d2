//! `OpenAI`'s bodies, and those of servers that speak like it.

use serde_json::Value;

use super::{Chat, Embedding, Kind, Question, Task, bytes, strings, texts};
use crate::rule::DIMENSIONS;

pub(super) fn read(kind: Kind, body: &Value) -> Result<Question, String> {
    let model = body.get("model").and_then(Value::as_str);
    let model = model
        .ok_or("you must provide a model parameter")?
        .to_owned();
    if body.get("stream").and_then(Value::as_bool) == Some(true) {
        return Err("streaming is not simulated".to_owned());
    }
    let (text_bytes, task) = match kind {
        Kind::Chat => chat(body)?,
        Kind::Embedding => embedding(body)?,
    };
    Ok(Question {
        model,
        text_bytes,
        task,
    })
}

fn chat(body: &Value) -> Result<(usize, Task), String> {
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages
        .filter(|list| !list.is_empty())
        .ok_or("missing required parameter: 'messages'")?;
    let mut text_bytes = 0;
    let mut last_user_text = String::new();
    for message in messages {
        let said = texts(message.get("content").unwrap_or(&Value::Null));
        text_bytes += bytes(&said);
        if message.get("role").and_then(Value::as_str) == Some("user") {
            last_user_text = said.join("\n");
        }
    }
    let most = ["max_completion_tokens", "max_tokens"];
    let max_tokens = most.iter().find_map(|name| body.get(*name)?.as_u64());
    let chat = Chat {
        last_user_text,
        max_tokens,
        stops: strings(body.get("stop")),
    };
    Ok((text_bytes, Task::Chat(chat)))
}

fn embedding(body: &Value) -> Result<(usize, Task), String> {
    let input = body.get("input").unwrap_or(&Value::Null);
    let inputs = match input {
        Value::String(one) => vec![one.clone()],
        // Numbers are the tokens of one input.
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
    let asked = body.get("dimensions").and_then(Value::as_u64);
    let dimensions = asked.and_then(|it| usize::try_from(it).ok());
    let embedding = Embedding {
        dimensions: dimensions.unwrap_or(DIMENSIONS),
        is_base64: body.get("encoding_format").and_then(Value::as_str) == Some("base64"),
        inputs,
    };
    let text_bytes = embedding.inputs.iter().map(String::len).sum();
    Ok((text_bytes, Task::Embedding(embedding)))
}
