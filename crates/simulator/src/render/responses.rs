//! The Response object of `OpenAI`'s Responses API.

use serde_json::{Map, Value, json};

use super::counts::styled;
use super::hex_digits;
use super::openai::{CompletionMetadata, call_id, output_counts, tier_name};
use crate::answer::ChatAnswer;
use crate::rule::{FinishReason, UsageStyle};
use crate::signature;
use crate::usage::SimulatedUsage;

pub fn response(answer: &ChatAnswer, metadata: CompletionMetadata<'_>) -> Value {
    let is_aborted = answer.finish_reason == FinishReason::Aborted;
    let code = answer.responses_error.as_deref();
    let code = code.or(is_aborted.then_some("server_error"));
    let error =
        code.map(|code| json!({"code": code, "message": format!("simulated failure {code}")}));
    let incomplete = match &answer.finish_reason {
        FinishReason::Length | FinishReason::Continuation => Some("max_output_tokens"),
        FinishReason::Blocked => Some("content_filter"),
        FinishReason::Refused if answer.text.is_none() => Some("content_filter"),
        FinishReason::End
        | FinishReason::StopSequence(_)
        | FinishReason::Refused
        | FinishReason::ToolCalls
        | FinishReason::Aborted
        | FinishReason::Named(_) => None,
    };
    let (status, output) = if error.is_some() {
        ("failed", Vec::new())
    } else if incomplete.is_some() {
        ("incomplete", output(answer, metadata, "incomplete"))
    } else {
        ("completed", output(answer, metadata, "completed"))
    };
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("id", json!(format!("resp_{}", metadata.id)));
    put("object", json!("response"));
    put("created_at", json!(metadata.created));
    put("status", json!(status));
    put("error", json!(error));
    put(
        "incomplete_details",
        json!(incomplete.map(|reason| json!({"reason": reason}))),
    );
    put("instructions", Value::Null);
    put("metadata", json!({}));
    put("model", json!(metadata.model));
    put("output", json!(output));
    put("parallel_tool_calls", json!(true));
    put("previous_response_id", Value::Null);
    put("service_tier", json!(tier_name(answer)));
    put("store", json!(false));
    put("tool_choice", json!("auto"));
    put("tools", json!([]));
    put("truncation", json!("disabled"));
    if let Some(counts) = answer.usage {
        let usage = usage(counts, answer.usage_style);
        put("usage", styled(usage, answer.usage_style));
    }
    Value::Object(body)
}

/// Reasoning, then calls or a message.
fn output(answer: &ChatAnswer, metadata: CompletionMetadata<'_>, status: &str) -> Vec<Value> {
    let mut items = Vec::new();
    if let Some(thought) = &answer.thought {
        let id = format!("rs_{}", hex_digits(&[metadata.id, "reasoning"], 24));
        let summary = if thought.is_shown {
            json!([{"type": "summary_text", "text": thought.text}])
        } else {
            json!([])
        };
        let mut item = json!({"id": id, "type": "reasoning", "summary": summary});
        if let Some(item) = item
            .as_object_mut()
            .filter(|_| answer.signing.encrypts_reasoning)
        {
            let encrypted = signature::sign(metadata.id, &id);
            item.insert("encrypted_content".to_owned(), json!(encrypted));
        }
        items.push(item);
    }
    for (index, call) in answer.calls.iter().enumerate() {
        items.push(json!({
            "id": format!("fc_{}", hex_digits(&[metadata.id, "item", &index.to_string()], 24)),
            "type": "function_call",
            "status": status,
            "call_id": if call.has_id { call_id(metadata.id, index) } else { String::new() },
            "name": call.name,
            "arguments": call.arguments.to_text(),
        }));
    }
    if let Some(text) = &answer.text {
        let part = if answer.finish_reason == FinishReason::Refused {
            json!({"type": "refusal", "refusal": text})
        } else {
            json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
        };
        items.push(json!({
            "id": format!("msg_{}", hex_digits(&[metadata.id, "message"], 24)),
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": [part],
        }));
    }
    items
}

fn usage(usage: SimulatedUsage, style: UsageStyle) -> Value {
    let (output, total) = output_counts(usage, style);
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cached,
            "cache_write_tokens": usage.writes(),
            "cache_write_tokens_details": {
                "ttl_30m_tokens": usage.cache_write,
                "ttl_12h_tokens": usage.long_cache_write,
            },
        },
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": usage.thinking},
        "total_tokens": total,
    })
}
