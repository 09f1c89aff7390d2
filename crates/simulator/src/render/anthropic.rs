//! Anthropic's message.

use serde_json::{Value, json};

use super::counts::styled;
use super::hex_digits;
use crate::answer::ChatAnswer;
use crate::rule::FinishReason;
use crate::signature;
use crate::usage::SimulatedUsage;

pub fn message(answer: &ChatAnswer, id: &str, model: &str, tier: &str) -> Value {
    let (stop, sequence) = match &answer.finish_reason {
        FinishReason::End | FinishReason::Aborted => ("end_turn", None),
        FinishReason::Length | FinishReason::Continuation => ("max_tokens", None),
        FinishReason::StopSequence(text) => ("stop_sequence", Some(text.as_str())),
        FinishReason::Blocked | FinishReason::Refused => ("refusal", None),
        FinishReason::ToolCalls => ("tool_use", None),
        FinishReason::Named(name) => (name.as_str(), None),
    };
    let mut body = json!({
        "id": format!("msg_{id}"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content(answer, id),
        "stop_reason": stop,
        "stop_sequence": sequence,
    });
    if let Some(body) = body.as_object_mut() {
        if answer.finish_reason == FinishReason::Refused {
            let details = json!({
                "type": "refusal",
                "category": "general_harms",
                "explanation": "The simulator refuses on demand.",
            });
            body.insert("stop_details".to_owned(), details);
        }
        if let Some(counts) = answer.usage {
            let mut usage = styled(usage(counts), answer.usage_style);
            if let Some(usage) = usage.as_object_mut() {
                usage.insert("service_tier".to_owned(), json!(tier));
            }
            body.insert("usage".to_owned(), usage);
        }
    }
    body
}

/// Thoughts, then a text, then calls.
fn content(answer: &ChatAnswer, id: &str) -> Vec<Value> {
    let mut blocks = Vec::new();
    if let Some(thought) = &answer.thought {
        let text = if thought.is_shown {
            thought.text.as_str()
        } else {
            ""
        };
        blocks.push(json!({
            "type": "thinking",
            "thinking": text,
            "signature": signature::sign(id, text),
        }));
    }
    if let Some(text) = &answer.text {
        blocks.push(json!({"type": "text", "text": text}));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let mut block = json!({"type": "tool_use"});
        if let Some(block) = block.as_object_mut() {
            if call.has_id {
                let digits = hex_digits(&[id, "call", &index.to_string()], 24);
                block.insert("id".to_owned(), json!(format!("toolu_{digits}")));
            }
            block.insert("name".to_owned(), json!(call.name));
            block.insert("input".to_owned(), call.arguments.to_json());
        }
        blocks.push(block);
    }
    blocks
}

/// The count of input excludes both counts of the cache.
fn usage(usage: SimulatedUsage) -> Value {
    let mut body = json!({
        "input_tokens": usage.fresh(),
        "cache_creation_input_tokens": usage.writes(),
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    });
    if let Some(body) = body.as_object_mut() {
        if usage.writes() > 0 {
            let split = json!({
                "ephemeral_5m_input_tokens": usage.cache_write,
                "ephemeral_1h_input_tokens": usage.long_cache_write,
            });
            body.insert("cache_creation".to_owned(), split);
        }
        if usage.thinking > 0 {
            let details = json!({"thinking_tokens": usage.thinking});
            body.insert("output_tokens_details".to_owned(), details);
        }
    }
    body
}
