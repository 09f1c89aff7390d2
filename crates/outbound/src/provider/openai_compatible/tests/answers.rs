//! Answers of Chat Completions and of servers.

use std::fmt::Write as _;

use domain::route::InferenceMode;
use serde_json::{Value, json};

use super::described_response;
use crate::provider::fixtures::{completion_json, describe, extended_json, key};
use crate::provider::item_result::ItemResult;
use crate::provider::openai_compatible::parse_response;

fn answer(message: &Value, finish: &str) -> ItemResult {
    let body = json!({
        "choices": [{"message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    });
    parse_response(&body.to_string(), key())
}

fn call(id: &Value, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "add", "arguments": arguments}})
}

#[test]
fn an_answer_becomes_our_completion() {
    let body = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "theirs-2026",
        "choices": [{
            "index": 0, "logprobs": null, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hello.", "refusal": null},
        }],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    });
    let end = parse_response(&body.to_string(), key());
    insta::assert_snapshot!(completion_json(end), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"Hello."}],"model":"ours","stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}}"#);
    let body = json!({
        "object": "list", "model": "theirs", "usage": {"prompt_tokens": 3, "total_tokens": 3},
        "data": [
            {"object": "embedding", "index": 1, "embedding": [0.5, -1]},
            {"object": "embedding", "index": 0, "embedding": [0.25, 1]},
        ],
    });
    insta::assert_snapshot!(described_response(&body), @"[[0.25, 1.0], [0.5, -1.0]], 3 in, 0 out");
}

#[test]
fn every_reason_to_stop_has_its_name() {
    let mut rows = String::new();
    for (finish, text, extra) in [
        (json!("stop"), json!("t"), json!({})),
        (json!("stop"), json!("t"), json!({"stop_reason": null})),
        (json!("stop"), json!("t"), json!({"stop_reason": "END"})),
        (json!("stop"), json!("t"), json!({"stop_reason": 151_645})),
        (json!("stop"), json!("t"), json!({"matched_stop": "END"})),
        (json!("stop"), json!("t"), json!({"matched_stop": 151_645})),
        (json!("length"), json!("t"), json!({})),
        (json!("length"), Value::Null, json!({})),
        (json!("content_filter"), json!("t"), json!({})),
        (json!("content_filter"), Value::Null, json!({})),
        (json!("tool_calls"), Value::Null, json!({})),
        (json!("function_call"), Value::Null, json!({})),
        (json!("abort"), json!("t"), json!({})),
        (json!("news"), json!("t"), json!({})),
        (Value::Null, json!("t"), json!({})),
    ] {
        let mut choice = json!({"message": {"content": text}, "finish_reason": finish});
        choice
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        let usage = json!({"prompt_tokens": 1, "completion_tokens": 2});
        let described = described_response(&json!({"choices": [choice], "usage": usage}));
        writeln!(rows, "{finish} {text} {extra}: {described}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    "stop" "t" {}: "t", EndTurn, 1 in, 2 out
    "stop" "t" {"stop_reason":null}: "t", EndTurn, 1 in, 2 out
    "stop" "t" {"stop_reason":"END"}: "t", StopSequence, 1 in, 2 out
    "stop" "t" {"stop_reason":151645}: "t", EndTurn, 1 in, 2 out
    "stop" "t" {"matched_stop":"END"}: "t", StopSequence, 1 in, 2 out
    "stop" "t" {"matched_stop":151645}: "t", EndTurn, 1 in, 2 out
    "length" "t" {}: "t", MaxTokens, 1 in, 2 out
    "length" null {}: "", MaxTokens, 1 in, 2 out
    "content_filter" "t" {}: "t", EndTurn, 1 in, 2 out
    "content_filter" null {}: failed: content_blocked: blocked by provider: content_filter
    "tool_calls" null {}: failed: unsupported_stop: the model stopped for an unsupported feature: tool_calls
    "function_call" null {}: failed: unsupported_stop: the model stopped for an unsupported feature: function_call
    "abort" "t" {}: retry: the server aborted the request, billed 1 in, 2 out
    "news" "t" {}: "t", EndTurn, 1 in, 2 out
    null "t" {}: "t", EndTurn, 1 in, 2 out
    "#);
}

#[test]
fn calls_decide_whatever_the_finish_reason_says() {
    let calls = json!([call(&json!("call_1"), &json!("{\"b\":1,\"a\":2}"))]);
    let message = json!({"content": null, "tool_calls": calls});
    for finish in ["tool_calls", "stop"] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(extended_json(answer(&message, finish)), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"add","input":{"b":1,"a":2}}],"model":"ours","stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":5}}"#);
        }
    }
    let described = describe(&answer(&message, "tool_calls"));
    assert_eq!(
        described,
        "failed: unsupported_stop: the model stopped for an unsupported feature: tool_use"
    );
    let cut = extended_json(answer(&message, "length"));
    assert!(cut.contains(r#""stop_reason":"max_tokens""#), "{cut}");
}

#[test]
fn arguments_that_are_no_object_are_given_as_text() {
    let mut rows = String::new();
    for arguments in [
        json!("{\"a\":1}"),
        json!("{\"a\":"),
        json!("[1]"),
        json!(" "),
        json!({"a": 1}),
        Value::Null,
        json!(7),
    ] {
        let calls = json!([call(&json!("call_1"), &arguments)]);
        let message = json!({"content": "", "tool_calls": calls});
        let answered = extended_json(answer(&message, "tool_calls"));
        let answered: Value = serde_json::from_str(&answered).unwrap();
        let input = &answered["content"][0]["input"];
        writeln!(rows, "{arguments}: {input}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    "{\"a\":1}": {"a":1}
    "{\"a\":": {"_raw":"{\"a\":"}
    "[1]": {"_raw":"[1]"}
    " ": {}
    {"a":1}: {"a":1}
    null: {}
    7: {"_raw":"7"}
    "#);
}

#[test]
fn an_id_that_a_caller_could_not_send_back_is_replaced() {
    let ids = [
        json!("call_1"),
        Value::Null,
        json!("call_1"),
        json!("functions.add:0"),
        json!("x".repeat(65)),
        json!("x".repeat(64)),
    ];
    let calls: Vec<Value> = ids.iter().map(|id| call(id, &json!("{}"))).collect();
    let message = json!({"content": null, "tool_calls": calls});
    let answered = extended_json(answer(&message, "tool_calls"));
    let answered: Value = serde_json::from_str(&answered).unwrap();
    let blocks = answered["content"].as_array().unwrap().iter();
    let given: Vec<&str> = blocks.map(|block| block["id"].as_str().unwrap()).collect();
    let ours = |index: usize| format!("toolu_019b76daa80070008070000000000001_{index}");
    let expected = [
        "call_1".to_owned(),
        ours(1),
        ours(2),
        ours(3),
        ours(4),
        "x".repeat(64),
    ];
    assert_eq!(given, expected);
}

#[test]
fn thoughts_of_a_server_come_first() {
    for field in ["reasoning", "reasoning_content"] {
        let message = json!({"content": "4", field: "2 and 2"});
        insta::allow_duplicates! {
            insta::assert_snapshot!(extended_json(answer(&message, "stop")), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"2 and 2","signature":"v1.server."},{"type":"text","text":"4"}],"model":"ours","stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}}"#);
        }
        assert_eq!(
            describe(&answer(&message, "stop")),
            "\"4\", EndTurn, 10 in, 5 out"
        );
    }
}

#[test]
fn a_refusal_is_an_answer() {
    let message = json!({"role": "assistant", "content": null, "refusal": "No."});
    let described = describe(&answer(&message, "stop"));
    assert_eq!(described, "\"No.\", EndTurn, 10 in, 5 out");
    insta::assert_snapshot!(extended_json(answer(&message, "stop")), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"No."}],"model":"ours","stop_reason":"refusal","stop_details":{},"usage":{"input_tokens":10,"output_tokens":5}}"#);
}

#[test]
fn the_answer_says_which_tier_served_it() {
    for (word, expected) in [
        (json!("flex"), Some(InferenceMode::Flex)),
        (json!("default"), Some(InferenceMode::Realtime)),
        (json!("on_demand"), Some(InferenceMode::Realtime)),
        (json!("auto"), None),
        (Value::Null, None),
    ] {
        let choice = json!({"message": {"content": "t"}, "finish_reason": "stop"});
        let body = json!({"choices": [choice], "service_tier": word});
        let ItemResult::Answer(answer) = parse_response(&body.to_string(), key()) else {
            unreachable!("{body}")
        };
        assert_eq!(answer.tier, expected, "{word}");
    }
}

#[test]
fn usage_that_is_missing_or_absurd_is_not_known() {
    let choice = json!({"message": {"content": "t"}, "finish_reason": "stop"});
    for usage in [
        Value::Null,
        json!("many"),
        json!({"prompt_tokens": 9_000_000_000_000_u64, "completion_tokens": 2}),
    ] {
        let described = described_response(&json!({"choices": [choice], "usage": usage}));
        assert_eq!(described, "\"t\", EndTurn, usage unknown", "{usage}");
    }
}

#[test]
fn an_unreadable_response_is_retried() {
    for body in [
        "",
        "{}",
        "[]",
        "null",
        r#"{"choices":[]}"#,
        r#"{"choices":[{}]}"#,
    ] {
        assert_eq!(
            describe(&parse_response(body, key())),
            "retry: the response cannot be parsed",
            "{body}"
        );
    }
}
