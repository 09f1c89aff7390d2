//! Results of a batch as outcomes.

use std::fmt::Write as _;

use domain::route::InferenceMode;
use serde_json::{Value, json};

use crate::provider::batch_provider::UnknownResultLine;
use crate::provider::fixtures::{completion_json, describe, extended_json, key};
use crate::provider::gemini::{response, result_line};
use crate::provider::item_result::ItemResult;

fn decoded(field: &str, value: &Value) -> ItemResult {
    let line = json!({"key": key(), field: value});
    let (item, end) = result_line::decode(line.to_string().as_bytes()).unwrap();
    assert_eq!(item, key());
    end
}

fn described_result(field: &str, value: &Value) -> String {
    describe(&decoded(field, value))
}

/// A response with these parts.
fn responded(parts: &Value, finish_reason: &str) -> ItemResult {
    let candidate = json!({"content": {"parts": parts}, "finishReason": finish_reason});
    let usage = json!({"promptTokenCount": 1, "candidatesTokenCount": 2});
    let response = json!({"candidates": [candidate], "usageMetadata": usage});
    decoded("response", &response)
}

#[test]
fn a_response_becomes_our_completion() {
    let response = json!({
        "candidates": [{"content": {"role": "model", "parts": [
            {"text": "hm", "thought": true}, {"text": "Hel"}, {"text": "lo."},
        ]}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": 10, "toolUsePromptTokenCount": 1, "candidatesTokenCount": 5,
            "thoughtsTokenCount": 300, "totalTokenCount": 316,
        },
        "modelVersion": "theirs", "responseId": "r",
    });
    insta::assert_snapshot!(completion_json(decoded("response", &response)), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"Hello."}],"model":"ours","stop_reason":"end_turn","usage":{"input_tokens":11,"output_tokens":305}}"#);
    for response in [
        json!({"embedding": {"values": [0.5, -1]}, "tokenCount": "3"}),
        json!({"embedding": {"values": [0.5, -1]}, "usageMetadata": {"promptTokenCount": 3}}),
    ] {
        let described = described_result("response", &response);
        assert_eq!(described, "[[0.5, -1.0]], 3 in, 0 out");
    }
}

#[test]
fn parts_keep_their_order_and_calls_get_ids() {
    let parts = json!([
        {"text": "I think", "thought": true},
        {"text": "I "},
        {"text": "look."},
        {"functionCall": {"name": "find", "args": {"b": 1, "a": 2}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"id": "call_1", "name": "stop"}},
    ]);
    insta::assert_snapshot!(extended_json(responded(&parts, "STOP")), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"I think","signature":"v1.gemini."},{"type":"text","text":"I look."},{"type":"thinking","thinking":"","signature":"v1.gemini.YzJsbg"},{"type":"tool_use","id":"toolu_019b76daa80070008070000000000001_0","name":"find","input":{"b":1,"a":2}},{"type":"tool_use","id":"call_1","name":"stop","input":{}}],"model":"ours","stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}"#);
}

#[test]
fn a_signature_may_come_with_a_text_and_after_it() {
    let parts = json!([
        {"text": "{\"a\"", "thoughtSignature": "c2ln"},
        {"text": ":1}"},
        {"text": "", "thoughtSignature": "c2ln"},
    ]);
    insta::assert_snapshot!(extended_json(responded(&parts, "STOP")), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"","signature":"v1.gemini.YzJsbg"},{"type":"text","text":"{\"a\":1}"},{"type":"thinking","thinking":"","signature":"v1.gemini.YzJsbg"}],"model":"ours","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}"#);
}

#[test]
fn a_call_that_was_cut_off_is_still_an_answer() {
    let parts = json!([{"functionCall": {"name": "find", "args": {"a": "b"}}}]);
    insta::assert_snapshot!(extended_json(responded(&parts, "MAX_TOKENS")), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_019b76daa80070008070000000000001_0","name":"find","input":{"a":"b"}}],"model":"ours","stop_reason":"max_tokens","usage":{"input_tokens":1,"output_tokens":2}}"#);
}

#[test]
fn every_reason_to_stop_has_its_name() {
    let mut rows = String::new();
    for (stop, text) in [
        ("STOP", "t"),
        ("MAX_TOKENS", "t"),
        ("MAX_TOKENS", ""),
        ("CONTINUATION", "t"),
        ("SAFETY", "t"),
        ("SAFETY", ""),
        ("RECITATION", ""),
        ("PROHIBITED_CONTENT", ""),
        ("SPII", ""),
        ("BLOCKLIST", ""),
        ("OTHER", "t"),
        ("OTHER", ""),
        ("MALFORMED_FUNCTION_CALL", ""),
        ("MALFORMED_RESPONSE", "t"),
        ("UNEXPECTED_TOOL_CALL", ""),
        ("TOO_MANY_TOOL_CALLS", ""),
    ] {
        let parts = if text.is_empty() {
            json!([])
        } else {
            json!([{"text": text}])
        };
        let described = describe(&responded(&parts, stop));
        writeln!(rows, "{stop} {text:?}: {described}").unwrap();
    }
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    writeln!(
        rows,
        "no candidate: {}",
        described_result("response", &blocked)
    )
    .unwrap();
    writeln!(
        rows,
        "nothing: {}",
        described_result("response", &json!({}))
    )
    .unwrap();
    insta::assert_snapshot!(rows, @r#"
    STOP "t": "t", EndTurn, 1 in, 2 out
    MAX_TOKENS "t": "t", MaxTokens, 1 in, 2 out
    MAX_TOKENS "": "", MaxTokens, 1 in, 2 out
    CONTINUATION "t": "t", MaxTokens, 1 in, 2 out
    SAFETY "t": "t", EndTurn, 1 in, 2 out
    SAFETY "": failed: content_blocked: blocked by provider: SAFETY
    RECITATION "": failed: content_blocked: blocked by provider: RECITATION
    PROHIBITED_CONTENT "": failed: content_blocked: blocked by provider: PROHIBITED_CONTENT
    SPII "": failed: content_blocked: blocked by provider: SPII
    BLOCKLIST "": failed: content_blocked: blocked by provider: BLOCKLIST
    OTHER "t": "t", EndTurn, 1 in, 2 out
    OTHER "": retry: the model stopped with OTHER, billed 1 in, 2 out
    MALFORMED_FUNCTION_CALL "": retry: the model stopped with MALFORMED_FUNCTION_CALL, billed 1 in, 2 out
    MALFORMED_RESPONSE "t": retry: the model stopped with MALFORMED_RESPONSE, billed 1 in, 2 out
    UNEXPECTED_TOOL_CALL "": retry: the model stopped with UNEXPECTED_TOOL_CALL, billed 1 in, 2 out
    TOO_MANY_TOOL_CALLS "": failed: unsupported_stop: the model stopped for an unsupported feature: TOO_MANY_TOOL_CALLS
    no candidate: failed: content_blocked: blocked by provider: SAFETY
    nothing: retry: the response has no candidate
    "#);
}

#[test]
fn the_tier_that_served_a_request_is_known_if_gemini_says_it() {
    for (name, expected) in [
        (json!("flex"), Some(InferenceMode::Flex)),
        (json!("STANDARD"), Some(InferenceMode::Realtime)),
        (json!("priority"), Some(InferenceMode::Realtime)),
        (json!("unspecified"), None),
        (Value::Null, None),
    ] {
        let candidate = json!({"content": {"parts": [{"text": "t"}]}, "finishReason": "STOP"});
        let usage = json!({"promptTokenCount": 1, "serviceTier": name});
        let response = json!({"candidates": [candidate], "usageMetadata": usage});
        // A job has the batch price, whatever its lines say.
        assert_eq!(decoded("response", &response).tier(), None, "{name}");
        let answer = response::parse(response, key());
        assert_eq!(answer.tier(), expected, "{name}");
    }
}

#[test]
fn every_error_has_its_end_by_either_name_and_number() {
    let mut rows = String::new();
    for code in [3, 5, 7, 8, 13, 14, 16, 1, 4, 400, 429, 500] {
        let error = json!({"code": code, "message": "m"});
        let described = described_result("error", &error);
        assert_eq!(described_result("status", &error), described);
        writeln!(rows, "{code}: {described}").unwrap();
    }
    insta::assert_snapshot!(rows, @r"
    3: failed: request_rejected: m
    5: failed: request_rejected: m
    7: retry: status 403
    8: retry: status 429
    13: retry: status 500
    14: retry: status 503
    16: account: status 401
    1: retry: status 499
    4: retry: status 504
    400: failed: request_rejected: m
    429: retry: status 429
    500: retry: status 500
    ");
}

#[test]
fn zeros_are_left_out_but_usage_that_is_missing_or_absurd_is_not_known() {
    let of = |usage: Value| {
        let candidate = json!({"content": {"parts": [{"text": "t"}]}, "finishReason": "STOP"});
        described_result(
            "response",
            &json!({"candidates": [candidate], "usageMetadata": usage}),
        )
    };
    assert_eq!(
        of(json!({"promptTokenCount": 7})),
        "\"t\", EndTurn, 7 in, 0 out"
    );
    assert_eq!(
        of(json!({"promptTokenCount": "7"})),
        "\"t\", EndTurn, 7 in, 0 out"
    );
    for usage in [
        Value::Null,
        json!({}),
        json!({"promptTokenCount": 9_000_000_000_000_u64, "candidatesTokenCount": 1}),
        json!({"promptTokenCount": 1, "candidatesTokenCount": u64::MAX, "thoughtsTokenCount": u64::MAX}),
    ] {
        assert_eq!(
            of(usage.clone()),
            "\"t\", EndTurn, usage unknown",
            "{usage}"
        );
    }
}

#[test]
fn an_answer_inside_the_job_has_its_key_in_its_metadata() {
    let line = json!({"metadata": {"key": key()}, "error": {"code": 14}});
    let (item, _) = result_line::decode(line.to_string().as_bytes()).unwrap();
    assert_eq!(item, key());
    for line in [
        "",
        "{}",
        r#"{"response":{}}"#,
        r#"{"key":"unknown-1","response":{}}"#,
    ] {
        assert_eq!(
            result_line::decode(line.as_bytes()),
            Err(UnknownResultLine),
            "{line}"
        );
    }
}
