//! Decodes one result of a batch, from a file or from the job.

use domain::outcome::{StopReason, TokenUsage};
use serde::Deserialize;
use serde_json::Value;

use crate::provider::batch_provider::UnknownResultLine;
use crate::provider::item_key::ItemKey;
use crate::provider::item_result::{self, ItemResult, ModelStop};
use crate::provider::provider_error::{ProviderError, http_status_of_code};

#[derive(Debug, Deserialize)]
struct Line {
    #[serde(default)]
    key: Option<String>,
    /// Holds the key of a result inside the job.
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(default)]
    response: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    /// An alternative to `error`.
    #[serde(default)]
    status: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    key: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    #[serde(default)]
    candidates: Vec<Candidate>,
    #[serde(default)]
    prompt_feedback: Option<PromptFeedback>,
    #[serde(default)]
    embedding: Option<EmbeddingVector>,
    /// Untyped: invalid usage must not make the whole response unreadable.
    #[serde(default)]
    usage_metadata: Value,
    #[serde(default)]
    token_count: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default)]
    content: Content,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Content {
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
    /// Marks reasoning, which is not part of the answer.
    #[serde(default)]
    thought: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct EmbeddingVector {
    values: Vec<f32>,
}

pub(super) fn decode(line: &[u8], model: &str) -> Result<(ItemKey, ItemResult), UnknownResultLine> {
    let line: Line = serde_json::from_slice(line).map_err(|_| UnknownResultLine)?;
    let key = line.key.or_else(|| line.metadata?.key);
    let key = key
        .and_then(|key| key.parse().ok())
        .ok_or(UnknownResultLine)?;
    let end = match (line.response, line.error.or(line.status)) {
        (Some(response), _) => match serde_json::from_value(response) {
            Ok(response) => parse_response(response, key, model),
            Err(_) => ItemResult::retry("the response cannot be parsed"),
        },
        (None, Some(error)) => {
            let error = ProviderError::from_json(&error);
            ItemResult::from_provider_error(
                error.numeric_code.map_or(500, http_status_of_code),
                &error,
            )
        }
        (None, None) => ItemResult::retry("the provider did not run the request"),
    };
    Ok((key, end))
}

fn parse_response(response: Response, key: ItemKey, model: &str) -> ItemResult {
    if let Some(vector) = response.embedding {
        let usage = embedding_usage(&response.token_count, &response.usage_metadata);
        return item_result::embedding_result(key, model, vec![vector.values], usage);
    }
    let usage = usage(&response.usage_metadata);
    let Some(candidate) = response.candidates.into_iter().next() else {
        let reason = response.prompt_feedback.and_then(|it| it.block_reason);
        return match reason {
            Some(reason) => item_result::chat_result(
                key,
                model,
                String::new(),
                ModelStop::Blocked(reason),
                usage,
            ),
            None => ItemResult::retry("the response has no candidate"),
        };
    };
    let parts = candidate.content.parts.into_iter();
    let answer = parts.filter(|part| !part.thought);
    let text: String = answer.map(|part| part.text).collect();
    item_result::chat_result(key, model, text, model_stop(candidate.finish_reason), usage)
}

fn model_stop(reason: Option<String>) -> ModelStop {
    match reason.as_deref() {
        None | Some("STOP" | "FINISH_REASON_UNSPECIFIED") => ModelStop::Reason(StopReason::EndTurn),
        Some("MAX_TOKENS") => ModelStop::Reason(StopReason::MaxTokens),
        Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS") => {
            ModelStop::Unsupported(reason.unwrap_or_default())
        }
        // SAFETY, RECITATION, PROHIBITED_CONTENT and newer filters.
        Some(_) => ModelStop::Blocked(reason.unwrap_or_default()),
    }
}

/// Gemini omits zeros. Only if all counts are missing, the usage is unknown.
fn usage(counts: &Value) -> Option<TokenUsage> {
    let count = |name: &str| counts.get(name).and_then(parse_number).unwrap_or_default();
    counts
        .get("promptTokenCount")
        .or_else(|| counts.get("totalTokenCount"))?;
    let input = count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount"));
    let output = count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount"));
    item_result::plausible_usage(Some(input), Some(output))
}

fn embedding_usage(token_count: &Value, counts: &Value) -> Option<TokenUsage> {
    let input = parse_number(token_count).or_else(|| parse_number(counts.get("promptTokenCount")?));
    item_result::plausible_usage(input, Some(0))
}

/// Gemini sends 64-bit numbers as strings.
fn parse_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
