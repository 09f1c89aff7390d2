//! Chat completions and lists of embeddings, as `OpenAI` and vLLM write them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::answer::{Chat, Usage, Vectors};
use crate::rule::Finish;

/// Who speaks, and when.
#[derive(Debug, Clone, Copy)]
pub struct Voice<'a> {
    pub id: &'a str,
    pub model: &'a str,
    pub created: i64,
    /// vLLM says more about why it stopped, and less about its service.
    pub is_vllm: bool,
}

pub fn chat(said: &Chat, voice: Voice<'_>) -> Value {
    let is_refusal = said.finish == Finish::Refused;
    let (content, refusal) = if is_refusal {
        (None, said.text.as_deref())
    } else {
        (said.text.as_deref(), None)
    };
    let finish = match &said.finish {
        Finish::End | Finish::Refused | Finish::Sequence(_) => "stop",
        Finish::Length => "length",
        Finish::Blocked => "content_filter",
        Finish::Named(name) => name,
    };
    let mut choice = json!({
        "index": 0,
        "message": {"role": "assistant", "content": content, "refusal": refusal, "annotations": []},
        "logprobs": null,
        "finish_reason": finish,
    });
    if voice.is_vllm
        && let Some(choice) = choice.as_object_mut()
    {
        let sequence = match &said.finish {
            Finish::Sequence(text) => Some(text),
            Finish::End | Finish::Length | Finish::Blocked | Finish::Refused | Finish::Named(_) => {
                None
            }
        };
        choice.insert("stop_reason".to_owned(), json!(sequence));
    }
    let mut body = json!({
        "id": format!("chatcmpl-{}", voice.id),
        "object": "chat.completion",
        "created": voice.created,
        "model": voice.model,
        "choices": [choice],
    });
    if let Some(body) = body.as_object_mut() {
        if let Some(usage) = said.usage {
            body.insert("usage".to_owned(), chat_usage(usage));
        }
        if !voice.is_vllm {
            body.insert("service_tier".to_owned(), json!("default"));
            body.insert("system_fingerprint".to_owned(), Value::Null);
        }
    }
    body
}

fn chat_usage(usage: Usage) -> Value {
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

pub fn embeddings(answer: &Vectors, voice: Voice<'_>) -> Value {
    let data: Vec<Value> = answer
        .of_inputs
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
    let mut body = json!({"object": "list", "data": data, "model": voice.model});
    if let (Some(usage), Some(body)) = (answer.usage, body.as_object_mut()) {
        let usage = json!({"prompt_tokens": usage.input, "total_tokens": usage.input});
        body.insert("usage".to_owned(), usage);
    }
    body
}
