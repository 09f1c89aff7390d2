//! One result of a batch, from a file or from the job itself.

use domain::outcome::{StopReason, Usage};
use serde::Deserialize;
use serde_json::Value;

use crate::provider::ending::{self, ItemEnd, Stop};
use crate::provider::jobs::Unreadable;
use crate::provider::key::ItemKey;
use crate::provider::no::{No, as_http};

#[derive(Debug, Deserialize)]
struct Line {
    #[serde(default)]
    key: Option<String>,
    /// Where an answer inside the job has its key.
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(default)]
    response: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    /// The other name for an error.
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
    prompt_feedback: Option<Feedback>,
    #[serde(default)]
    embedding: Option<Vector>,
    /// Whatever stands there: nonsense in it must not cost the answer.
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
    /// What the model said to itself.
    #[serde(default)]
    thought: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Vector {
    values: Vec<f32>,
}

pub(super) fn decode(line: &[u8], model: &str) -> Result<(ItemKey, ItemEnd), Unreadable> {
    let line: Line = serde_json::from_slice(line).map_err(|_| Unreadable)?;
    let key = line.key.or_else(|| line.metadata?.key);
    let key = key.and_then(|key| key.parse().ok()).ok_or(Unreadable)?;
    let end = match (line.response, line.error.or(line.status)) {
        (Some(response), _) => match serde_json::from_value(response) {
            Ok(response) => read(response, key, model),
            Err(_) => ItemEnd::again("the answer cannot be read"),
        },
        (None, Some(error)) => {
            let no = No::of(&error);
            ItemEnd::refused(no.number.map_or(500, as_http), &no)
        }
        (None, None) => ItemEnd::again("not run"),
    };
    Ok((key, end))
}

fn read(response: Response, key: ItemKey, model: &str) -> ItemEnd {
    if let Some(vector) = response.embedding {
        let usage = embedding_usage(&response.token_count, &response.usage_metadata);
        return ending::embedding(key, model, vec![vector.values], usage);
    }
    let usage = usage(&response.usage_metadata);
    let Some(candidate) = response.candidates.into_iter().next() else {
        let reason = response.prompt_feedback.and_then(|it| it.block_reason);
        return match reason {
            Some(reason) => ending::chat(key, model, String::new(), Stop::Blocked(reason), usage),
            None => ItemEnd::again("the answer has no candidate"),
        };
    };
    let parts = candidate.content.parts.into_iter();
    let said = parts.filter(|part| !part.thought);
    let text: String = said.map(|part| part.text).collect();
    ending::chat(key, model, text, stop(candidate.finish_reason), usage)
}

fn stop(reason: Option<String>) -> Stop {
    match reason.as_deref() {
        None | Some("STOP" | "FINISH_REASON_UNSPECIFIED") => Stop::Reason(StopReason::EndTurn),
        Some("MAX_TOKENS") => Stop::Reason(StopReason::MaxTokens),
        Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS") => {
            Stop::Unoffered(reason.unwrap_or_default())
        }
        // SAFETY, RECITATION, PROHIBITED_CONTENT and their growing kin.
        Some(_) => Stop::Blocked(reason.unwrap_or_default()),
    }
}

/// Zeros are left out, so only the whole being missing means that nothing was counted.
fn usage(counts: &Value) -> Option<Usage> {
    let count = |name: &str| counts.get(name).and_then(number).unwrap_or_default();
    counts
        .get("promptTokenCount")
        .or_else(|| counts.get("totalTokenCount"))?;
    let input = count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount"));
    let output = count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount"));
    ending::usage(Some(input), Some(output))
}

fn embedding_usage(token_count: &Value, counts: &Value) -> Option<Usage> {
    let input = number(token_count).or_else(|| number(counts.get("promptTokenCount")?));
    ending::usage(input, Some(0))
}

/// Large numbers come as texts.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
