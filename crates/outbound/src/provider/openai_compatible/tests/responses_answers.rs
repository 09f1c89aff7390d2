//! Answers of the Responses API.

use std::fmt::Write as _;

use domain::route::ChatApi;
use serde_json::{Value, json};

use super::{body, capable_route, described_response};
use crate::provider::fixtures::{extended_json, key};
use crate::provider::openai_compatible::{ServerDialect, parse_response};

fn response(status: &str, output: &Value, more: &Value) -> Value {
    let mut response = json!({
        "id": "resp_1", "object": "response", "status": status, "error": null,
        "incomplete_details": null, "model": "theirs-2026", "output": output,
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
    });
    let more = more.as_object().unwrap().clone();
    response.as_object_mut().unwrap().extend(more);
    response
}

fn message(parts: &Value) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": parts})
}

fn text_message(text: &str) -> Value {
    message(&json!([{"type": "output_text", "text": text, "annotations": []}]))
}

fn reasoning() -> Value {
    json!({
        "type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA",
        "summary": [{"type": "summary_text", "text": "A"}, {"type": "summary_text", "text": "B"}],
    })
}

fn call() -> Value {
    json!({
        "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add",
        "arguments": "{\"b\":1,\"a\":2}", "status": "completed",
    })
}

#[test]
fn thoughts_texts_and_calls_keep_their_order() {
    let output =
        json!([reasoning(), text_message("Let me see."), call(), {"type": "web_search_call"}]);
    let end = parse_response(
        &response("completed", &output, &json!({})).to_string(),
        key(),
    );
    insta::assert_snapshot!(extended_json(end), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"A\n\nB","signature":"v1.openai.Z0FBQQ.cnNfMQ"},{"type":"text","text":"Let me see."},{"type":"tool_use","id":"call_1","name":"add","input":{"b":1,"a":2}}],"model":"ours","stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":5}}"#);
}

#[test]
fn the_caller_sends_the_thoughts_back_as_they_came() {
    let output = json!([reasoning(), call()]);
    let end = parse_response(
        &response("completed", &output, &json!({})).to_string(),
        key(),
    );
    let answered: Value = serde_json::from_str(&extended_json(end)).unwrap();
    let next = json!({"messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": answered["content"]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1"}]},
    ]});
    let route = capable_route(ChatApi::Responses);
    let sent = body(&next, &route, ServerDialect::OpenAi).unwrap();
    let items = sent["input"].as_array().unwrap();
    assert_eq!(items[1]["id"], "rs_1");
    assert_eq!(items[1]["encrypted_content"], "gAAA");
    assert_eq!(items[2]["arguments"], call()["arguments"]);
}

#[test]
fn every_end_of_a_response_is_understood() {
    let refusal = message(&json!([{"type": "refusal", "refusal": "No."}]));
    let incomplete = |reason: &str| json!({"incomplete_details": {"reason": reason}});
    let error = |code: &str, message: &str| json!({"error": {"code": code, "message": message}});
    let mut rows = String::new();
    for (status, output, more) in [
        ("completed", json!([text_message("t")]), json!({})),
        ("completed", json!([refusal]), json!({})),
        ("completed", json!([]), json!({})),
        (
            "incomplete",
            json!([text_message("t")]),
            incomplete("max_output_tokens"),
        ),
        (
            "incomplete",
            json!([reasoning()]),
            incomplete("max_output_tokens"),
        ),
        ("incomplete", json!([]), incomplete("content_filter")),
        (
            "incomplete",
            json!([text_message("t")]),
            incomplete("steered"),
        ),
        ("failed", json!([]), error("server_error", "m")),
        ("failed", json!([]), error("rate_limit_exceeded", "m")),
        ("failed", json!([]), error("invalid_prompt", "bad prompt")),
        ("failed", json!([]), error("bio_policy", "")),
        ("failed", json!([]), json!({})),
        ("cancelled", json!([]), json!({})),
        ("in_progress", json!([]), json!({})),
    ] {
        let described = described_response(&response(status, &output, &more));
        writeln!(rows, "{status} {more}: {described}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    completed {}: "t", EndTurn, 10 in, 5 out
    completed {}: "No.", EndTurn, 10 in, 5 out
    completed {}: "", EndTurn, 10 in, 5 out
    incomplete {"incomplete_details":{"reason":"max_output_tokens"}}: "t", MaxTokens, 10 in, 5 out
    incomplete {"incomplete_details":{"reason":"max_output_tokens"}}: "", MaxTokens, 10 in, 5 out
    incomplete {"incomplete_details":{"reason":"content_filter"}}: failed: content_blocked: blocked by provider: content_filter
    incomplete {"incomplete_details":{"reason":"steered"}}: failed: unsupported_stop: the model stopped for an unsupported feature: steered
    failed {"error":{"code":"server_error","message":"m"}}: retry: server_error, billed 10 in, 5 out
    failed {"error":{"code":"rate_limit_exceeded","message":"m"}}: retry: rate_limit_exceeded, billed 10 in, 5 out
    failed {"error":{"code":"invalid_prompt","message":"bad prompt"}}: failed: request_rejected: bad prompt, billed 10 in, 5 out
    failed {"error":{"code":"bio_policy","message":""}}: failed: request_rejected: bio_policy, billed 10 in, 5 out
    failed {}: failed: request_rejected: the provider failed the request without a reason, billed 10 in, 5 out
    cancelled {}: retry: the response has the status cancelled, billed 10 in, 5 out
    in_progress {}: retry: the response has the status in_progress, billed 10 in, 5 out
    "#);
}
