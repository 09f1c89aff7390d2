//! Reads the answer of the Responses API. It has no finish reason: the items say why it ended.

use domain::id::CargoId;
use domain::model_answer::{ModelAnswer, ModelStop};
use domain::outcome::{CompletionBlock, StopDetails};
use domain::reason_code::FailureCode;
use domain::route::InferenceMode;
use domain::thinking_signature::{SignatureKind, ThinkingSignature};
use serde_json::Value;

use crate::provider::item_key::ItemKey;
use crate::provider::item_result::{ItemBill, ItemResult};
use crate::provider::provider_error::ProviderError;
use crate::provider::tool_calls::ToolCallReader;
use crate::provider::usage_reading;

/// Errors inside a success response that are no fault of the request.
const RETRYABLE_CODES: [&str; 2] = ["server_error", "rate_limit_exceeded"];

#[derive(Debug, Clone, Copy)]
pub(super) struct ResponsesAnswer<'a> {
    pub(super) status: &'a str,
    pub(super) output: &'a [Value],
    pub(super) error: &'a Value,
    pub(super) incomplete_details: &'a Value,
    pub(super) usage: &'a Value,
}

impl ResponsesAnswer<'_> {
    pub(super) fn into_result(self, key: ItemKey, tier: Option<InferenceMode>) -> ItemResult {
        let usage = usage_reading::responses_usage(self.usage);
        let billed = usage.bill(tier);
        match self.status {
            "failed" => return failed(self.error, billed),
            "cancelled" | "queued" | "in_progress" => {
                let why = format!("the response has the status {}", self.status);
                return ItemResult::Retry { why, billed };
            }
            _ => {}
        }
        let mut reader = OutputReader::new(key.cargo);
        for item in self.output {
            reader.read(item);
        }
        let stop = self.stop(&reader);
        let answer = usage.into_answer(reader.blocks, stop);
        ItemResult::Answer(ModelAnswer { tier, ..answer })
    }

    fn stop(&self, reader: &OutputReader) -> ModelStop {
        if self.status == "incomplete" {
            let reason = self.incomplete_details.get("reason");
            return match reason.and_then(Value::as_str) {
                Some("max_output_tokens") | None => ModelStop::MaxTokens,
                Some("content_filter") => ModelStop::Blocked("content_filter".to_owned()),
                Some(name) => ModelStop::Unsupported(name.to_owned()),
            };
        }
        if reader.is_refusal {
            return ModelStop::Refusal(StopDetails::default());
        }
        if reader.calls.has_calls() {
            return ModelStop::ToolUse;
        }
        ModelStop::EndTurn
    }
}

fn failed(error: &Value, billed: ItemBill) -> ItemResult {
    let error = ProviderError::from_json(error);
    if RETRYABLE_CODES.contains(&error.code.as_str()) {
        return ItemResult::Retry {
            why: error.code,
            billed,
        };
    }
    let message = match (error.message.as_str(), error.code.as_str()) {
        ("", "") => "the provider failed the request without a reason",
        ("", code) => code,
        (message, _) => message,
    };
    ItemResult::Failure {
        failure: FailureCode::RequestRejected.with_message(message),
        billed,
    }
}

/// Reads output items, which come in any order and number.
struct OutputReader {
    blocks: Vec<CompletionBlock>,
    calls: ToolCallReader,
    is_refusal: bool,
}

impl OutputReader {
    const fn new(cargo: CargoId) -> Self {
        Self {
            blocks: Vec::new(),
            calls: ToolCallReader::new(cargo),
            is_refusal: false,
        }
    }

    fn read(&mut self, item: &Value) {
        match item.get("type").and_then(Value::as_str) {
            Some("message") => self.read_message(item),
            Some("reasoning") => self.blocks.extend(reasoning(item)),
            Some("function_call") => {
                let text = |name: &str| item.get(name).and_then(Value::as_str);
                let name = text("name").unwrap_or_default();
                let arguments = item.get("arguments");
                let call = self.calls.read(text("call_id"), name, arguments);
                self.blocks.push(call);
            }
            // Longshore asks for no other items.
            Some(_) | None => {}
        }
    }

    fn read_message(&mut self, item: &Value) {
        let parts = item.get("content").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            let text = |name: &str| part.get(name).and_then(Value::as_str);
            let text = match text("type") {
                Some("output_text") => text("text"),
                Some("refusal") => {
                    self.is_refusal = true;
                    text("refusal")
                }
                Some(_) | None => None,
            };
            let text = text.filter(|text| !text.is_empty()).map(str::to_owned);
            self.blocks.extend(text.map(CompletionBlock::plain_text));
        }
    }
}

/// The summary of the thoughts, and what the next turn has to send back.
fn reasoning(item: &Value) -> Option<CompletionBlock> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    let parts = item.get("summary").and_then(Value::as_array);
    let summary = parts.into_iter().flatten();
    let summary: Vec<&str> = summary
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    let encrypted = text("encrypted_content").unwrap_or_default();
    if summary.is_empty() && encrypted.is_empty() {
        return None;
    }
    let signature = ThinkingSignature {
        item: text("id").map(str::to_owned),
        ..ThinkingSignature::new(SignatureKind::OpenAi, encrypted)
    };
    Some(CompletionBlock::Thinking {
        thinking: summary.join("\n\n"),
        signature: signature.to_string(),
    })
}
