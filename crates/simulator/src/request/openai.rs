//! Bodies of `OpenAI` and of compatible servers.

use serde_json::Value;

use super::{
    EmbeddingTask, ItemRequest, ItemTask, RequestFormat, TaskKind, openai_chat, openai_fields,
    openai_responses,
};
use crate::invalid_request::InvalidRequest;
use crate::provider::SimulatedProvider;
use crate::rule::DEFAULT_DIMENSIONS;

pub(super) fn parse(
    format: RequestFormat<'_>,
    body: &Value,
) -> Result<ItemRequest, InvalidRequest> {
    let model = body.get("model").and_then(Value::as_str);
    let model = model
        .ok_or("you must provide a model parameter")?
        .to_owned();
    if body.get("stream").and_then(Value::as_bool) == Some(true) {
        return Err("streaming is not simulated".into());
    }
    // Compatible servers ignore fields that they do not know.
    if format.provider == SimulatedProvider::OpenAi {
        openai_fields::check_names(format.kind, body)?;
    }
    let (text_bytes, task) = match format.kind {
        TaskKind::Chat => openai_chat::parse(format.provider, &model, body)?,
        TaskKind::Responses => openai_responses::parse(&model, body)?,
        TaskKind::Embedding => embedding(body)?,
    };
    Ok(ItemRequest {
        provider: format.provider,
        model,
        text_bytes,
        task,
    })
}

fn embedding(body: &Value) -> Result<(usize, ItemTask), InvalidRequest> {
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
        return Err("'$.input' is invalid".into());
    }
    if inputs.len() > 2048 {
        return Err("'$.input' has more than 2048 items".into());
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
