//! Requests, results and batch objects of Anthropic.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::batch::{AnthropicBatch, AnthropicBatchList};
use super::{request_line, result_line};
use crate::provider::BatchItem;
use crate::provider::batch_provider::UnknownResultLine;
use crate::provider::fixtures;
use crate::provider::fixtures::{
    FixtureMedia, chat_with_file, chat_with_role, completion_json, describe, embedding, full_chat,
    key,
};

fn encoded_line(item: &BatchItem) -> String {
    request_line::encode(item, "theirs", &FixtureMedia).map_or_else(
        |unsupported| format!("unsupported: {unsupported}"),
        fixtures::line_text,
    )
}

fn described_result(result: &Value) -> String {
    let line = json!({"custom_id": key(), "result": result});
    let (item, end) = result_line::decode(line.to_string().as_bytes(), "ours").unwrap();
    assert_eq!(item, key());
    describe(&end)
}

#[test]
fn a_request_keeps_every_parameter() {
    insta::assert_snapshot!(encoded_line(&full_chat()), @r#"{"custom_id":"crg_019b76daa80070008070000000000001-a2","params":{"model":"theirs","max_tokens":50,"system":"Be brief.","messages":[{"role":"user","content":"Hi\n\u0000\"é\""},{"role":"assistant","content":"Yes?"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"temperature":0.7,"top_p":0.9,"top_k":40,"stop_sequences":["END","\n"]}}"#);
    assert_eq!(encoded_line(&full_chat()), encoded_line(&full_chat()));
}

#[test]
fn files_are_given_by_their_address_and_texts_as_they_are() {
    let mut rows = String::new();
    for (kind, file) in [
        ("image", "image"),
        ("document", "pdf"),
        ("document", "csv"),
        ("video", "video"),
        ("image", "gone"),
    ] {
        let encoded = encoded_line(&chat_with_file(kind, file));
        let content = serde_json::from_str::<Value>(&encoded).map_or(encoded, |line| {
            line["params"]["messages"][0]["content"][0].to_string()
        });
        writeln!(rows, "{file}: {content}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    image: {"type":"image","source":{"type":"url","url":"https://files.example/image?signature=1"}}
    pdf: {"type":"document","source":{"type":"url","url":"https://files.example/pdf?signature=1"}}
    csv: {"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b\n1,2"}}
    video: unsupported: the model does not support video
    gone: unsupported: file gone no longer exists
    "#);
}

#[test]
fn what_would_fail_hours_later_is_unsupported_now() {
    insta::assert_snapshot!(encoded_line(&chat_with_role("system")), @"unsupported: a message's role must be user or assistant");
    insta::assert_snapshot!(encoded_line(&embedding(&json!("a"))), @"unsupported: the provider does not offer embeddings");
}

#[test]
fn a_message_becomes_our_completion() {
    let line = json!({"custom_id": key(), "result": {"type": "succeeded", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "theirs-2026",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hel"}, {"type": "text", "text": "lo."}],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {
            "input_tokens": 1, "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 300, "output_tokens": 4, "service_tier": "batch",
        },
    }}});
    let (_, end) = result_line::decode(line.to_string().as_bytes(), "ours").unwrap();
    insta::assert_snapshot!(completion_json(end), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"Hello."}],"model":"ours","stop_reason":"end_turn","usage":{"input_tokens":321,"output_tokens":4}}"#);
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
fn a_refusal_without_a_word_is_a_failure() {
    let message = json!({"content": [], "stop_reason": "refusal"});
    let described = described_result(&json!({"type": "succeeded", "message": message}));
    assert_eq!(
        described,
        "failed: content_blocked: blocked by provider: refusal"
    );
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
            result_line::decode(line.as_bytes(), "ours"),
            Err(UnknownResultLine),
            "{line}"
        );
    }
}

fn batch(status: &str, extra: &Value) -> Value {
    let mut batch = json!({
        "id": "msgbatch_1", "type": "message_batch", "processing_status": status,
        "request_counts": {"processing": 5, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
        "created_at": "2026-11-15T12:00:00.123456+00:00", "archived_at": null,
        "cancel_initiated_at": null, "results_url": null,
    });
    let fields = batch.as_object_mut().unwrap();
    fields.extend(extra.as_object().unwrap().clone());
    batch
}

#[test]
fn every_status_of_a_batch_is_understood() {
    let ended = json!({"processing": 0, "succeeded": 3, "errored": 1, "expired": 1});
    let mut rows = String::new();
    for (status, extra) in [
        ("in_progress", json!({})),
        ("canceling", json!({})),
        ("ended", json!({})),
        ("ended", json!({"request_counts": ended})),
        (
            "ended",
            json!({"cancel_initiated_at": "2026-11-15T12:00:00+00:00"}),
        ),
        ("ended", json!({"archived_at": "2026-11-15T12:00:00+00:00"})),
        ("news", json!({})),
    ] {
        let batch: AnthropicBatch = serde_json::from_value(batch(status, &extra)).unwrap();
        let described = batch.into_status(Some(Duration::from_secs(10)));
        writeln!(rows, "{status} {extra}: {described:?}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    in_progress {}: Ok(Running { retry_after: Some(10s), done: 0, total: 5 })
    canceling {}: Ok(Running { retry_after: Some(10s), done: 0, total: 5 })
    ended {}: Ok(Ended { results: [Job], end_reason: Completed })
    ended {"request_counts":{"processing":0,"succeeded":3,"errored":1,"expired":1}}: Ok(Ended { results: [Job], end_reason: Expired })
    ended {"cancel_initiated_at":"2026-11-15T12:00:00+00:00"}: Ok(Ended { results: [Job], end_reason: Cancelled })
    ended {"archived_at":"2026-11-15T12:00:00+00:00"}: Ok(Gone)
    news {}: Err(UnreadableResponse)
    "#);
}

#[test]
fn a_job_is_matched_by_creation_time_and_the_sum_of_its_counts() {
    let counts = json!({"request_counts": {"processing": 1, "succeeded": 2, "errored": 3, "canceled": 4, "expired": 5}});
    let list =
        json!({"data": [batch("ended", &counts)], "has_more": false, "last_id": "msgbatch_1"});
    let page = serde_json::from_value::<AnthropicBatchList>(list)
        .unwrap()
        .into_page();
    insta::assert_snapshot!(format!("{page:?}"), @r#"JobPage { jobs: [JobCandidate { job: ProviderJobId("msgbatch_1"), created_at: 2026-11-15T12:00:00.123456Z, items: Some(15), is_exact: false }], next: None }"#);
}
