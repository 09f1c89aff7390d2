//! An answer in the format of Responses.

use domain::outcome::{ChatCompletion, CompletionBlock, StopReason};
use serde_json::{Value, json};

use super::AnswerIdentity;
use super::chat::arguments;
use super::usage::responses_usage;
use crate::dropin::openai::request::REDACTED_PREFIX;

pub(super) fn write(answer: &ChatCompletion, identity: &AnswerIdentity) -> Value {
    let is_cut = answer.stop_reason == StopReason::MaxTokens;
    let status = if is_cut { "incomplete" } else { "completed" };
    let incomplete_details = is_cut.then(|| json!({"reason": "max_output_tokens"}));
    let output = answer.content.iter().enumerate();
    let output = output.map(|(index, block)| ItemWriter {
        answer,
        status,
        suffix: format!("{}{index:02x}", identity.hex()),
        block,
    });
    let output: Vec<Value> = output.map(|item| item.write()).collect();
    json!({
        "id": format!("resp_{}", identity.hex()),
        "object": "response",
        "created_at": identity.created,
        "completed_at": identity.created,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": incomplete_details,
        "instructions": null,
        "max_output_tokens": null,
        "metadata": {},
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null},
        "service_tier": "default",
        "store": false,
        "temperature": null,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": null,
        "truncation": "disabled",
        "usage": responses_usage(answer.usage),
        "user": null,
    })
}

/// Writes one block as an item of its own. Callers can send the items back.
struct ItemWriter<'a> {
    answer: &'a ChatCompletion,
    status: &'static str,
    /// Makes the id of the item.
    suffix: String,
    block: &'a CompletionBlock,
}

impl ItemWriter<'_> {
    fn write(&self) -> Value {
        let (status, suffix) = (self.status, &self.suffix);
        match self.block {
            CompletionBlock::Text { text } => {
                let part = if self.answer.stop_reason == StopReason::Refusal {
                    json!({"type": "refusal", "refusal": text})
                } else {
                    let text = json!(text);
                    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
                };
                json!({
                    "type": "message", "id": format!("msg_{suffix}"), "role": "assistant",
                    "status": status, "content": [part],
                })
            }
            CompletionBlock::ToolUse { id, name, input } => json!({
                "type": "function_call", "id": format!("fc_{suffix}"), "call_id": id,
                "name": name, "arguments": arguments(input), "status": status,
            }),
            CompletionBlock::Thinking {
                thinking,
                signature,
            } => self.reasoning(Some(thinking), signature),
            CompletionBlock::RedactedThinking { data } => {
                self.reasoning(None, &format!("{REDACTED_PREFIX}{data}"))
            }
        }
    }

    /// What the provider needs to recognize its thoughts is in `encrypted_content`.
    fn reasoning(&self, thinking: Option<&String>, encrypted: &str) -> Value {
        let summary = thinking.filter(|text| !text.is_empty());
        let summary = summary.map(|text| json!({"type": "summary_text", "text": text}));
        let summary: Vec<Value> = summary.into_iter().collect();
        json!({
            "type": "reasoning", "id": format!("rs_{}", self.suffix), "summary": summary,
            "encrypted_content": encrypted,
        })
    }
}
