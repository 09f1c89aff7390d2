//! Stored answers in `OpenAI`'s formats.

use domain::outcome::Completion;
use serde_json::{Value, json};

use super::{AnswerIdentity, write_answer};
use crate::dropin::openai::endpoint::Endpoint;

fn write(endpoint: Endpoint, stored: Value) -> Value {
    let completion: Completion = serde_json::from_value(stored).unwrap();
    let identity = AnswerIdentity {
        cargo: "crg_019b76da807b774b805000000000002a".parse().unwrap(),
        created: 1_800_000_000,
    };
    write_answer(endpoint, &completion, &identity)
}

#[expect(clippy::needless_pass_by_value, reason = "tests pass literals")]
fn stored(content: Value, stop_reason: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "content": content, "model": "m",
        "stop_reason": stop_reason, "usage": {
            "input_tokens": 9, "output_tokens": 5,
            "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
            "output_tokens_details": {"thinking_tokens": 4},
        },
    })
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

#[test]
fn a_chat_answer() {
    let answer = write(
        Endpoint::ChatCompletions,
        stored(text("Hello!"), "end_turn"),
    );
    let expected = json!({
        "id": "chatcmpl-019b76da807b774b805000000000002a",
        "object": "chat.completion", "created": 1_800_000_000, "model": "m",
        "choices": [{
            "index": 0, "logprobs": null, "finish_reason": "stop",
            "message": {
                "role": "assistant", "content": "Hello!", "refusal": null, "annotations": [],
            },
        }],
        "usage": {
            "prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 4, "audio_tokens": 0, "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        },
        "service_tier": "default", "system_fingerprint": null,
    });
    assert_eq!(answer, expected);
}

#[test]
fn why_a_chat_answer_ended() {
    for (stop, finish) in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "stop"),
    ] {
        let answer = write(Endpoint::ChatCompletions, stored(text("a"), stop));
        assert_eq!(answer["choices"][0]["finish_reason"], finish);
    }
    let refused = write(Endpoint::ChatCompletions, stored(text("No."), "refusal"));
    let message = &refused["choices"][0]["message"];
    assert_eq!(
        (&message["content"], &message["refusal"]),
        (&json!(null), &json!("No."))
    );
}

#[test]
fn calls_of_tools_and_thoughts() {
    let content = json!([
        {"type": "thinking", "thinking": "Hm.", "signature": "v1.x"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"z": 1, "a": 2}},
        {"type": "tool_use", "id": "b", "name": "f", "input": {"_raw": "{\"x"}},
    ]);
    let chat = write(
        Endpoint::ChatCompletions,
        stored(content.clone(), "tool_use"),
    );
    let message = &chat["choices"][0]["message"];
    assert_eq!(message["content"], json!(null));
    let expected = json!([
        {"id": "a", "type": "function",
         "function": {"name": "f", "arguments": "{\"z\":1,\"a\":2}"}},
        {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{\"x"}},
    ]);
    assert_eq!(message["tool_calls"], expected);
    let response = write(Endpoint::Responses, stored(content, "tool_use"));
    let items = response["output"].as_array().unwrap();
    let kinds: Vec<&str> = items.iter().filter_map(|it| it["type"].as_str()).collect();
    assert_eq!(
        kinds,
        ["reasoning", "reasoning", "function_call", "function_call"]
    );
    assert_eq!(items[0]["encrypted_content"], "v1.x");
    assert_eq!(
        items[0]["summary"],
        json!([{"type": "summary_text", "text": "Hm."}])
    );
    assert_eq!(items[1]["encrypted_content"], "redacted:d");
    assert_eq!(items[2]["call_id"], "a");
    assert_eq!(items[3]["arguments"], "{\"x");
}

#[test]
fn an_answer_of_responses() {
    let answer = write(Endpoint::Responses, stored(text("Hello!"), "end_turn"));
    assert_eq!(answer["id"], "resp_019b76da807b774b805000000000002a");
    assert_eq!(answer["object"], "response");
    assert_eq!(answer["status"], "completed");
    assert_eq!(answer["incomplete_details"], json!(null));
    let item = &answer["output"][0];
    assert_eq!(
        (&item["type"], &item["role"]),
        (&json!("message"), &json!("assistant"))
    );
    assert_eq!(item["content"][0]["text"], "Hello!");
    let expected = json!({
        "input_tokens": 9, "output_tokens": 5, "total_tokens": 14,
        "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 4},
    });
    assert_eq!(answer["usage"], expected);
    let cut = write(Endpoint::Responses, stored(text("Hel"), "max_tokens"));
    assert_eq!(cut["status"], "incomplete");
    assert_eq!(
        cut["incomplete_details"],
        json!({"reason": "max_output_tokens"})
    );
    let refused = write(Endpoint::Responses, stored(text("No."), "refusal"));
    assert_eq!(refused["output"][0]["content"][0]["type"], "refusal");
}

#[test]
fn vectors() {
    let stored = json!({
        "id": "emb_1", "type": "embedding", "model": "e", "embeddings": [[0.25, -0.5], [1.0, 0.0]],
        "usage": {"input_tokens": 4, "output_tokens": 0},
    });
    let expected = json!({
        "object": "list", "model": "e", "usage": {"prompt_tokens": 4, "total_tokens": 4},
        "data": [
            {"object": "embedding", "index": 0, "embedding": [0.25, -0.5]},
            {"object": "embedding", "index": 1, "embedding": [1.0, 0.0]},
        ],
    });
    assert_eq!(write(Endpoint::Embeddings, stored), expected);
}
