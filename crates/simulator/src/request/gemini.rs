//! Gemini's requests. The URL has the model, and field names have two spellings.

use serde_json::Value;

use super::gemini_config;
use super::gemini_contents;
use super::google_fields::{check_names, field_by_names, parts};
use super::{ChatTask, EmbeddingTask, ItemRequest, ItemTask, RequestFormat, TaskKind, strings};
use crate::invalid_request::InvalidRequest;
use crate::model_rules::gemini_rules;
use crate::provider::SimulatedProvider;
use crate::rule::DEFAULT_DIMENSIONS;

const CHAT_FIELDS: &[&str] = &[
    "cachedContent",
    "contents",
    "generationConfig",
    "labels",
    "model",
    "safetySettings",
    "serviceTier",
    "store",
    "systemInstruction",
    "toolConfig",
    "tools",
];

const EMBEDDING_FIELDS: &[&str] = &[
    "autoTruncate",
    "content",
    "model",
    "outputDimensionality",
    "taskType",
    "title",
];

pub(super) fn parse(
    format: RequestFormat<'_>,
    request: &Value,
) -> Result<ItemRequest, InvalidRequest> {
    let (text_bytes, task) = match format.kind {
        TaskKind::Chat | TaskKind::Responses => chat(format.model, request)?,
        TaskKind::Embedding => embedding(request)?,
    };
    Ok(ItemRequest {
        provider: SimulatedProvider::Gemini,
        model: format.model.to_owned(),
        text_bytes,
        task,
    })
}

fn chat(model: &str, request: &Value) -> Result<(usize, ItemTask), InvalidRequest> {
    check_names(request, CHAT_FIELDS, "")?;
    let rules = gemini_rules(model);
    let contents = request.get("contents").and_then(Value::as_array);
    let contents = contents
        .filter(|list| !list.is_empty())
        .ok_or("* GenerateContentRequest.contents: contents is not specified")?;
    gemini_contents::check(&rules, contents)?;
    let config =
        field_by_names(request, "generationConfig", "generation_config").unwrap_or(&Value::Null);
    gemini_config::check(config)?;
    let tools = gemini_config::tools(request)?;
    let format = gemini_config::response_schema(&rules, config, !tools.is_empty())?;
    let text_bytes = gemini_contents::text_bytes(request, contents);
    let chat = ChatTask {
        last_user_text: gemini_contents::last_user_text(contents),
        max_tokens: field_by_names(config, "maxOutputTokens", "max_output_tokens")
            .and_then(Value::as_u64),
        stops: strings(field_by_names(config, "stopSequences", "stop_sequences")),
        tool_choice: gemini_config::tool_mode(request, &tools)?,
        tools,
        format,
        thinking: gemini_config::thinking(&rules, config)?,
        signs_parts: rules.requires_signatures,
        tier: gemini_config::tier(request)?,
        ..ChatTask::default()
    };
    Ok((text_bytes, ItemTask::Chat(Box::new(chat))))
}

fn embedding(request: &Value) -> Result<(usize, ItemTask), InvalidRequest> {
    check_names(request, EMBEDDING_FIELDS, "")?;
    let texts = parts(request.get("content").unwrap_or(&Value::Null));
    if texts.is_empty() {
        return Err("* EmbedContentRequest.content: contents is not specified".into());
    }
    let requested = field_by_names(request, "outputDimensionality", "output_dimensionality");
    let dimensions = requested.and_then(Value::as_u64);
    let dimensions = dimensions.and_then(|it| usize::try_from(it).ok());
    let embedding = EmbeddingTask {
        inputs: vec![texts.join("\n")],
        dimensions: dimensions.unwrap_or(DEFAULT_DIMENSIONS),
        is_base64: false,
    };
    let text_bytes = texts.iter().map(|text| text.len()).sum();
    Ok((text_bytes, ItemTask::Embedding(embedding)))
}
