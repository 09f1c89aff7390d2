//! Chat completions and lists of embeddings of `OpenAI` and vLLM.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::answer::{ChatAnswer, EmbeddingAnswer, SimulatedUsage};
use crate::rule::FinishReason;

#[derive(Debug, Clone, Copy)]
pub struct CompletionMetadata<'a> {
    pub id: &'a str,
    pub model: &'a str,
    pub created: i64,
    /// vLLM adds `stop_reason` and omits `service_tier` and `system_fingerprint`.
    pub is_vllm: bool,
}

pub fn chat(answer: &ChatAnswer, metadata: CompletionMetadata<'_>) -> Value {
    let is_refusal = answer.finish_reason == FinishReason::Refused;
    let (content, refusal) = if is_refusal {
        (None, answer.text.as_deref())
    } else {
        (answer.text.as_deref(), None)
    };
    let finish = match &answer.finish_reason {
        FinishReason::End | FinishReason::Refused | FinishReason::StopSequence(_) => "stop",
        FinishReason::Length => "length",
        FinishReason::Blocked => "content_filter",
        FinishReason::Named(name) => name,
    };
    let mut choice = json!({
        "index": 0,
        "message": {"role": "assistant", "content": content, "refusal": refusal, "annotations": []},
        "logprobs": null,
        "finish_reason": finish,
    });
    if metadata.is_vllm
        && let Some(choice) = choice.as_object_mut()
    {
        let sequence = match &answer.finish_reason {
            FinishReason::StopSequence(text) => Some(text),
            FinishReason::End
            | FinishReason::Length
            | FinishReason::Blocked
            | FinishReason::Refused
            | FinishReason::Named(_) => None,
        };
        choice.insert("stop_reason".to_owned(), json!(sequence));
    }
    let mut body = json!({
        "id": format!("chatcmpl-{}", metadata.id),
        "object": "chat.completion",
        "created": metadata.created,
        "model": metadata.model,
        "choices": [choice],
    });
    if let Some(body) = body.as_object_mut() {
        if let Some(usage) = answer.usage {
            body.insert("usage".to_owned(), chat_usage(usage));
        }
        if !metadata.is_vllm {
            body.insert("service_tier".to_owned(), json!("default"));
            body.insert("system_fingerprint".to_owned(), Value::Null);
        }
    }
    body
}

fn chat_usage(usage: SimulatedUsage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}

pub fn embeddings(answer: &EmbeddingAnswer, metadata: CompletionMetadata<'_>) -> Value {
    let data: Vec<Value> = answer
        .vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| {
            let embedding = if answer.is_base64 {
                let bytes: Vec<u8> = vector.iter().flat_map(|it| it.to_le_bytes()).collect();
                json!(STANDARD.encode(bytes))
            } else {
                json!(vector)
            };
            json!({"object": "embedding", "index": index, "embedding": embedding})
        })
        .collect();
    let mut body = json!({"object": "list", "data": data, "model": metadata.model});
    if let (Some(usage), Some(body)) = (answer.usage, body.as_object_mut()) {
        let usage = json!({"prompt_tokens": usage.input, "total_tokens": usage.input});
        body.insert("usage".to_owned(), usage);
    }
    body
}
