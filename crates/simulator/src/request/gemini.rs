//! Gemini's requests. The URL has the model, and field names have two spellings.

use serde_json::Value;

use super::{
    ChatTask, EmbeddingTask, ItemRequest, ItemTask, TaskKind, count_bytes, strings, texts,
};
use crate::rule::DEFAULT_DIMENSIONS;

pub(super) fn parse(kind: TaskKind, request: &Value) -> Result<ItemRequest, String> {
    let (text_bytes, task) = match kind {
        TaskKind::Chat => chat(request)?,
        TaskKind::Embedding => embedding(request)?,
    };
    Ok(ItemRequest {
        model: String::new(),
        text_bytes,
        task,
    })
}

fn chat(request: &Value) -> Result<(usize, ItemTask), String> {
    let contents = request.get("contents").and_then(Value::as_array);
    let contents = contents
        .filter(|list| !list.is_empty())
        .ok_or("* GenerateContentRequest.contents: contents is not specified")?;
    let system = field_by_names(request, "systemInstruction", "system_instruction");
    let mut text_bytes = count_bytes(&parts(system.unwrap_or(&Value::Null)));
    let mut last_user_text = String::new();
    for content in contents {
        let texts = parts(content);
        text_bytes += count_bytes(&texts);
        match content.get("role").and_then(Value::as_str) {
            Some("user") | None => last_user_text = texts.join("\n"),
            Some("model") => {}
            Some(_) => return Err("please use a valid role: user, model".to_owned()),
        }
    }
    let config =
        field_by_names(request, "generationConfig", "generation_config").unwrap_or(&Value::Null);
    let chat = ChatTask {
        last_user_text,
        max_tokens: field_by_names(config, "maxOutputTokens", "max_output_tokens")
            .and_then(Value::as_u64),
        stops: strings(field_by_names(config, "stopSequences", "stop_sequences")),
    };
    Ok((text_bytes, ItemTask::Chat(chat)))
}

fn embedding(request: &Value) -> Result<(usize, ItemTask), String> {
    let texts = parts(request.get("content").unwrap_or(&Value::Null));
    if texts.is_empty() {
        return Err("* EmbedContentRequest.content: contents is not specified".to_owned());
    }
    let requested = field_by_names(request, "outputDimensionality", "output_dimensionality");
    let dimensions = requested.and_then(Value::as_u64);
    let dimensions = dimensions.and_then(|it| usize::try_from(it).ok());
    let embedding = EmbeddingTask {
        inputs: vec![texts.join("\n")],
        dimensions: dimensions.unwrap_or(DEFAULT_DIMENSIONS),
        is_base64: false,
    };
    Ok((count_bytes(&texts), ItemTask::Embedding(embedding)))
}

fn parts(content: &Value) -> Vec<&str> {
    texts(content.get("parts").unwrap_or(&Value::Null))
}

/// A field by either of its names.
fn field_by_names<'a>(value: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    value.get(camel).or_else(|| value.get(snake))
}
