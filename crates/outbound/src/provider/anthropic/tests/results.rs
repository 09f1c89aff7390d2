//! Results of a batch as outcomes.

use std::fmt::Write as _;

use domain::token_buckets::TokenBuckets;
use serde_json::{Value, json};

use crate::provider::anthropic::result_line;
use crate::provider::batch_provider::UnknownResultLine;
use crate::provider::fixtures::{completion_json, describe, extended_json, key};
use crate::provider::item_result::ItemResult;

fn decoded(result: &Value) -> ItemResult {
    let line = json!({"custom_id": key(), "result": result});
    let (item, end) = result_line::decode(line.to_string().as_bytes()).unwrap();
    assert_eq!(item, key());
    end
}

fn succeeded(message: &Value) -> ItemResult {
    decoded(&json!({"type": "succeeded", "message": message}))
}

fn described_result(result: &Value) -> String {
    describe(&decoded(result))
}

#[test]
fn a_message_becomes_our_completion() {
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "theirs-2026",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hel"}, {"type": "text", "text": "lo."}],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {
            "input_tokens": 1, "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 300, "output_tokens": 4, "service_tier": "batch",
        },
    });
    insta::assert_snapshot!(completion_json(succeeded(&message)), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"Hello."}],"model":"ours","stop_reason":"end_turn","usage":{"input_tokens":321,"output_tokens":4}}"#);
}

#[test]
fn blocks_keep_their_order_and_thoughts_their_signatures() {
    let message = json!({
        "content": [
            {"type": "thinking", "thinking": "", "signature": "sig"},
            {"type": "redacted_thinking", "data": "data"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"b": 1, "a": 2}},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "tool_use", "id": "toolu_2", "name": "stop", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {
            "input_tokens": 1, "cache_read_input_tokens": 20, "output_tokens": 4,
            "output_tokens_details": {"thinking_tokens": 3},
        },
    });
    insta::assert_snapshot!(extended_json(succeeded(&message)), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"","signature":"v1.anthropic.c2ln"},{"type":"redacted_thinking","data":"v1.anthropic.ZGF0YQ"},{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"find","input":{"b":1,"a":2}},{"type":"tool_use","id":"toolu_2","name":"stop","input":{}}],"model":"ours","stop_reason":"tool_use","usage":{"input_tokens":21,"output_tokens":4,"input_tokens_details":{"cached_tokens":20},"output_tokens_details":{"thinking_tokens":3}}}"#);
}

#[test]
fn a_call_that_was_cut_off_is_still_an_answer() {
    let message = json!({
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"a": "b"}}, {"type": "tool_use", "id": "toolu_2", "name": "find"}],
        "stop_reason": "max_tokens", "usage": {"input_tokens": 1, "output_tokens": 2},
    });
    insta::assert_snapshot!(extended_json(succeeded(&message)), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"find","input":{"a":"b"}},{"type":"tool_use","id":"toolu_2","name":"find","input":{}}],"model":"ours","stop_reason":"max_tokens","usage":{"input_tokens":1,"output_tokens":2}}"#);
}

#[test]
fn the_stop_sequence_and_the_reason_of_a_refusal_are_named() {
    let message = |stop: Value| {
        let mut message = json!({
            "content": [{"type": "text", "text": "t"}],
            "usage": {"input_tokens": 1, "output_tokens": 2},
        });
        let fields = message.as_object_mut().unwrap();
        fields.extend(stop.as_object().unwrap().clone());
        extended_json(succeeded(&message))
    };
    let stopped = json!({"stop_reason": "stop_sequence", "stop_sequence": "END"});
    insta::assert_snapshot!(message(stopped), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"t"}],"model":"ours","stop_reason":"stop_sequence","stop_sequence":"END","usage":{"input_tokens":1,"output_tokens":2}}"#);
    let details = json!({"type": "refusal", "category": "bio", "explanation": "e"});
    let refused = json!({"stop_reason": "refusal", "stop_details": details});
    insta::assert_snapshot!(message(refused), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"t"}],"model":"ours","stop_reason":"refusal","stop_details":{"category":"bio","explanation":"e"},"usage":{"input_tokens":1,"output_tokens":2}}"#);
}

#[test]
fn every_reason_to_stop_has_its_name() {
    let mut rows = String::new();
    for stop in [
        "end_turn",
        "max_tokens",
        "model_context_window_exceeded",
        "stop_sequence",
        "refusal",
        "tool_use",
        "pause_turn",
        "news",
    ] {
        let message = json!({
            "content": [{"type": "text", "text": "t"}], "stop_reason": stop,
            "usage": {"input_tokens": 1, "output_tokens": 2},
        });
        let described = described_result(&json!({"type": "succeeded", "message": message}));
        writeln!(rows, "{stop}: {described}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    end_turn: "t", EndTurn, 1 in, 2 out
    max_tokens: "t", MaxTokens, 1 in, 2 out
    model_context_window_exceeded: "t", MaxTokens, 1 in, 2 out
    stop_sequence: "t", StopSequence, 1 in, 2 out
    refusal: "t", EndTurn, 1 in, 2 out
    tool_use: failed: unsupported_stop: the model stopped for an unsupported feature: tool_use
    pause_turn: failed: unsupported_stop: the model stopped for an unsupported feature: pause_turn
    news: "t", EndTurn, 1 in, 2 out
    "#);
}

#[test]
fn a_refusal_without_a_word_is_a_failure_that_costs_nothing() {
    let refusal = |content: Value| {
        let usage = json!({"input_tokens": 5, "output_tokens": 1});
        let end = succeeded(&json!({"content": content, "stop_reason": "refusal", "usage": usage}));
        assert_eq!(
            describe(&end),
            "failed: content_blocked: blocked by provider: refusal"
        );
        let ItemResult::Answer(answer) = end else {
            unreachable!()
        };
        answer.billed.unwrap()
    };
    assert_eq!(refusal(json!([])), TokenBuckets::default());
    // The model had begun to think.
    let thought = refusal(json!([{"type": "thinking", "thinking": "hm", "signature": "s"}]));
    assert_eq!((thought.fresh, thought.output), (5, 1));
}

#[test]
fn every_result_has_its_end() {
    let mut rows = String::new();
    for kind in [
        "invalid_request_error",
        "not_found_error",
        "request_too_large",
        "authentication_error",
        "billing_error",
        "permission_error",
        "rate_limit_error",
        "api_error",
        "timeout_error",
        "overloaded_error",
        "news",
    ] {
        let error =
            json!({"type": "error", "error": {"type": kind, "message": "m"}, "request_id": "r"});
        let described = described_result(&json!({"type": "errored", "error": error}));
        writeln!(rows, "{kind}: {described}").unwrap();
    }
    for kind in ["expired", "canceled", "succeeded", "news"] {
        writeln!(rows, "{kind}: {}", described_result(&json!({"type": kind}))).unwrap();
    }
    insta::assert_snapshot!(rows, @r"
    invalid_request_error: failed: request_rejected: m
    not_found_error: failed: request_rejected: m
    request_too_large: failed: request_rejected: m
    authentication_error: account: authentication_error (status 401)
    billing_error: account: billing_error (status 402)
    permission_error: account: permission_error (status 403)
    rate_limit_error: retry: status 429
    api_error: retry: status 500
    timeout_error: retry: status 504
    overloaded_error: retry: status 529
    news: retry: status 500
    expired: retry: expired
    canceled: retry: cancelled
    succeeded: retry: the response cannot be parsed
    news: retry: the response cannot be parsed
    ");
}

#[test]
fn a_limit_of_spending_is_about_the_account_and_no_rate_limit() {
    let error = json!({
        "type": "rate_limit_error", "error_code": "enforced_spend_limit_reached", "message": "m",
    });
    let result = json!({"type": "errored", "error": {"type": "error", "error": error}});
    assert_eq!(
        described_result(&result),
        "account: enforced_spend_limit_reached (status 429)"
    );
}

#[test]
fn usage_that_is_missing_or_absurd_is_not_known() {
    for usage in [
        Value::Null,
        json!({"input_tokens": 1}),
        json!({"input_tokens": 1, "cache_read_input_tokens": u64::MAX, "output_tokens": 1}),
    ] {
        let message = json!({"content": [], "stop_reason": "end_turn", "usage": usage});
        let described = described_result(&json!({"type": "succeeded", "message": message}));
        assert_eq!(described, "\"\", EndTurn, usage unknown", "{usage}");
    }
}

#[test]
fn a_line_without_a_valid_item_key_is_refused() {
    for line in [
        "",
        "{}",
        r#"{"custom_id":"unknown-1","result":{"type":"expired"}}"#,
    ] {
        assert_eq!(
            result_line::decode(line.as_bytes()),
            Err(UnknownResultLine),
            "{line}"
        );
    }
}
