//! Gemini's requests; the model stands in the URL, and names have two spellings.

use serde_json::Value;

use super::{Chat, Embedding, Kind, Question, Task, bytes, strings, texts};
use crate::rule::DIMENSIONS;

pub(super) fn read(kind: Kind, request: &Value) -> Result<Question, String> {
    let (text_bytes, task) = match kind {
        Kind::Chat => chat(request)?,
        Kind::Embedding => embedding(request)?,
    };
    Ok(Question {
        model: String::new(),
        text_bytes,
        task,
    })
}

fn chat(request: &Value) -> Result<(usize, Task), String> {
    let contents = request.get("contents").and_then(Value::as_array);
    let contents = contents
        .filter(|list| !list.is_empty())
        .ok_or("* GenerateContentRequest.contents: contents is not specified")?;
    let system = either(request, "systemInstruction", "system_instruction");
    let mut text_bytes = bytes(&parts(system.unwrap_or(&Value::Null)));
    let mut last_user_text = String::new();
    for content in contents {
        let said = parts(content);
        text_bytes += bytes(&said);
        match content.get("role").and_then(Value::as_str) {
            Some("user") | None => last_user_text = said.join("\n"),
            Some("model") => {}
            Some(_) => return Err("please use a valid role: user, model".to_owned()),
        }
    }
    let config = either(request, "generationConfig", "generation_config").unwrap_or(&Value::Null);
    let chat = Chat {
        last_user_text,
        max_tokens: either(config, "maxOutputTokens", "max_output_tokens").and_then(Value::as_u64),
        stops: strings(either(config, "stopSequences", "stop_sequences")),
    };
    Ok((text_bytes, Task::Chat(chat)))
}

fn embedding(request: &Value) -> Result<(usize, Task), String> {
    let said = parts(request.get("content").unwrap_or(&Value::Null));
    if said.is_empty() {
        return Err("* EmbedContentRequest.content: contents is not specified".to_owned());
    }
    let asked = either(request, "outputDimensionality", "output_dimensionality");
    let dimensions = asked.and_then(Value::as_u64);
    let dimensions = dimensions.and_then(|it| usize::try_from(it).ok());
    let embedding = Embedding {
        inputs: vec![said.join("\n")],
        dimensions: dimensions.unwrap_or(DIMENSIONS),
        is_base64: false,
    };
    Ok((bytes(&said), Task::Embedding(embedding)))
}

fn parts(content: &Value) -> Vec<&str> {
    texts(content.get("parts").unwrap_or(&Value::Null))
}

/// A field by either of its names.
fn either<'a>(value: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    value.get(camel).or_else(|| value.get(snake))
}
