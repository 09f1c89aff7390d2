//! Requests, results and operations of Gemini.

use std::fmt::Write as _;
use std::time::Duration;

use chrono::DateTime;
use serde_json::{Value, json};

use super::operation::{GeminiOperation, GeminiOperationList};
use super::{request_line, result_line};
use crate::provider::BatchItem;
use crate::provider::batch_provider::{JobSearch, SubmissionLabel, UnknownResultLine};
use crate::provider::fixtures;
use crate::provider::fixtures::{
    FixtureMedia, chat_with_file, chat_with_role, completion_json, describe, embedding, full_chat,
    key,
};

fn encoded_line(item: &BatchItem) -> String {
    request_line::encode(item, &FixtureMedia).map_or_else(
        |unsupported| format!("unsupported: {unsupported}"),
        fixtures::line_text,
    )
}

fn described_result(field: &str, value: &Value) -> String {
    let line = json!({"key": key(), field: value});
    let (item, end) = result_line::decode(line.to_string().as_bytes(), "ours").unwrap();
    assert_eq!(item, key());
    describe(&end)
}

#[test]
fn a_request_keeps_every_parameter() {
    insta::assert_snapshot!(encoded_line(&full_chat()), @r#"{"key":"crg_019b76daa80070008070000000000001-a2","request":{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Hi\n\u0000\"é\""}]},{"role":"model","parts":[{"text":"Yes?"}]},{"role":"user","parts":[{"text":"a"},{"text":"b"}]}],"generationConfig":{"maxOutputTokens":50,"temperature":0.7,"topP":0.9,"topK":40,"stopSequences":["END","\n"]}}}"#);
    assert_eq!(encoded_line(&full_chat()), encoded_line(&full_chat()));
}

#[test]
fn an_embedding_is_of_one_text() {
    insta::assert_snapshot!(encoded_line(&embedding(&json!("a"))), @r#"{"key":"crg_019b76daa80070008070000000000001-a2","request":{"content":{"parts":[{"text":"a"}]}}}"#);
    assert_eq!(
        encoded_line(&embedding(&json!(["a"]))),
        encoded_line(&embedding(&json!("a")))
    );
    insta::assert_snapshot!(encoded_line(&embedding(&json!(["a", "b"]))), @"unsupported: the model accepts one text per embedding request");
}

#[test]
fn files_stand_in_the_line_and_texts_as_they_are() {
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
            line["request"]["contents"][0]["parts"][0].to_string()
        });
        writeln!(rows, "{file}: {content}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    image: {"inlineData":{"mimeType":"image/png","data":"aW1hZ2U="}}
    pdf: {"inlineData":{"mimeType":"application/pdf","data":"cGRm"}}
    csv: {"text":"a,b\n1,2"}
    video: {"inlineData":{"mimeType":"video/mp4","data":"dmlkZW8="}}
    gone: unsupported: file gone no longer exists
    "#);
    insta::assert_snapshot!(encoded_line(&chat_with_role("system")), @"unsupported: a message's role must be user or assistant");
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
    let line = json!({"key": key(), "response": response});
    let (_, end) = result_line::decode(line.to_string().as_bytes(), "ours").unwrap();
    insta::assert_snapshot!(completion_json(end), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"Hello."}],"model":"ours","stop_reason":"end_turn","usage":{"input_tokens":11,"output_tokens":305}}"#);
    let line =
        json!({"key": key(), "response": {"embedding": {"values": [0.5, -1]}, "tokenCount": "3"}});
    let (_, end) = result_line::decode(line.to_string().as_bytes(), "ours").unwrap();
    insta::assert_snapshot!(completion_json(end), @r#"{"id":"emb_019b76daa80070008070000000000001","type":"embedding","model":"ours","embeddings":[[0.5,-1.0]],"usage":{"input_tokens":3,"output_tokens":0}}"#);
}

#[test]
fn every_reason_to_stop_has_its_name() {
    let mut rows = String::new();
    for (stop, text) in [
        ("STOP", "t"),
        ("MAX_TOKENS", "t"),
        ("MAX_TOKENS", ""),
        ("SAFETY", "t"),
        ("SAFETY", ""),
        ("RECITATION", ""),
        ("PROHIBITED_CONTENT", ""),
        ("SPII", ""),
        ("BLOCKLIST", ""),
        ("MALFORMED_FUNCTION_CALL", ""),
    ] {
        let parts = if text.is_empty() {
            json!([])
        } else {
            json!([{"text": text}])
        };
        let described = described_result(
            "response",
            &json!({
                "candidates": [{"content": {"parts": parts}, "finishReason": stop}],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2},
            }),
        );
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
    SAFETY "t": "t", EndTurn, 1 in, 2 out
    SAFETY "": failed: content_blocked: blocked by provider: SAFETY
    RECITATION "": failed: content_blocked: blocked by provider: RECITATION
    PROHIBITED_CONTENT "": failed: content_blocked: blocked by provider: PROHIBITED_CONTENT
    SPII "": failed: content_blocked: blocked by provider: SPII
    BLOCKLIST "": failed: content_blocked: blocked by provider: BLOCKLIST
    MALFORMED_FUNCTION_CALL "": failed: unsupported_stop: the model stopped for an unsupported feature: MALFORMED_FUNCTION_CALL
    no candidate: failed: content_blocked: blocked by provider: SAFETY
    nothing: retry: the response has no candidate
    "#);
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
    let (item, _) = result_line::decode(line.to_string().as_bytes(), "ours").unwrap();
    assert_eq!(item, key());
    for line in [
        "",
        "{}",
        r#"{"response":{}}"#,
        r#"{"key":"unknown-1","response":{}}"#,
    ] {
        assert_eq!(
            result_line::decode(line.as_bytes(), "ours"),
            Err(UnknownResultLine),
            "{line}"
        );
    }
}

fn operation(state: &str, extra: &Value) -> GeminiOperation {
    let mut operation = json!({
        "name": "batches/1",
        "metadata": {
            "@type": "x", "displayName": "sub_1", "state": state,
            "createTime": "2026-11-15T12:00:00.123456Z",
            "batchStats": {"requestCount": "10", "successfulRequestCount": "3", "failedRequestCount": "1"},
        },
    });
    let fields = operation.as_object_mut().unwrap();
    fields.extend(extra.as_object().unwrap().clone());
    serde_json::from_str(&operation.to_string()).unwrap()
}

#[test]
fn every_state_of_a_job_is_understood() {
    let inline = json!({"inlinedResponses": {"inlinedResponses": [{"response": {}}]}});
    let mut rows = String::new();
    for (state, extra) in [
        ("BATCH_STATE_PENDING", json!({})),
        ("JOB_STATE_RUNNING", json!({})),
        (
            "BATCH_STATE_SUCCEEDED",
            json!({"done": true, "response": {"responsesFile": "files/batch-1"}}),
        ),
        (
            "BATCH_STATE_SUCCEEDED",
            json!({"metadata": {"state": "BATCH_STATE_SUCCEEDED", "output": {"responsesFile": "files/batch-1"}}}),
        ),
        ("BATCH_STATE_SUCCEEDED", json!({"response": inline})),
        (
            "BATCH_STATE_EXPIRED",
            json!({"error": {"code": 4, "message": "expired"}}),
        ),
        ("BATCH_STATE_CANCELLED", json!({"error": {"code": 1}})),
        (
            "BATCH_STATE_FAILED",
            json!({"error": {"code": 3, "message": "bad"}}),
        ),
        (
            "BATCH_STATE_FAILED",
            json!({"error": {"code": 8, "message": "too many tokens"}}),
        ),
        ("BATCH_STATE_FAILED", json!({})),
        ("BATCH_STATE_NEWS", json!({})),
        ("", json!({})),
        ("", json!({"done": true})),
    ] {
        let status = operation(state, &extra).into_status(Some(Duration::from_secs(10)));
        writeln!(rows, "{state} {extra}: {status:?}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    BATCH_STATE_PENDING {}: Ok(Running { retry_after: Some(10s), done: 4, total: 10 })
    JOB_STATE_RUNNING {}: Ok(Running { retry_after: Some(10s), done: 4, total: 10 })
    BATCH_STATE_SUCCEEDED {"done":true,"response":{"responsesFile":"files/batch-1"}}: Ok(Ended { results: [File("files/batch-1")], end_reason: Completed })
    BATCH_STATE_SUCCEEDED {"metadata":{"state":"BATCH_STATE_SUCCEEDED","output":{"responsesFile":"files/batch-1"}}}: Ok(Ended { results: [File("files/batch-1")], end_reason: Completed })
    BATCH_STATE_SUCCEEDED {"response":{"inlinedResponses":{"inlinedResponses":[{"response":{}}]}}}: Ok(Ended { results: [Job], end_reason: Completed })
    BATCH_STATE_EXPIRED {"error":{"code":4,"message":"expired"}}: Ok(Ended { results: [], end_reason: Expired })
    BATCH_STATE_CANCELLED {"error":{"code":1}}: Ok(Ended { results: [], end_reason: Cancelled })
    BATCH_STATE_FAILED {"error":{"code":3,"message":"bad"}}: Ok(Failed { reason: Other("bad") })
    BATCH_STATE_FAILED {"error":{"code":8,"message":"too many tokens"}}: Ok(Failed { reason: TokenLimit })
    BATCH_STATE_FAILED {}: Ok(Failed { reason: Other("the provider answered with status 500") })
    BATCH_STATE_NEWS {}: Err(UnreadableResponse)
     {}: Ok(Running { retry_after: Some(10s), done: 4, total: 10 })
     {"done":true}: Err(UnreadableResponse)
    "#);
}

#[test]
fn answers_inside_the_job_become_lines() {
    let text = "{\n  \"response\": {\"inlinedResponses\": {\"inlinedResponses\": [\n    {\"response\":\r\n {\"a\": \"x\\ny\"}},\n {}\n  ]}}\n}";
    let operation: GeminiOperation = serde_json::from_str(text).unwrap();
    let lines: Vec<String> = operation.inline_result_lines().collect();
    assert_eq!(lines, ["{\"response\":   {\"a\": \"x\\ny\"}}\n", "{}\n"]);
    let mirrored = json!({"metadata": {"output": {"inlinedEmbedContentResponses": {"inlinedResponses": [1]}}}});
    let operation: GeminiOperation = serde_json::from_str(&mirrored.to_string()).unwrap();
    assert_eq!(operation.inline_result_lines().collect::<Vec<_>>(), ["1\n"]);
}

#[test]
fn a_job_is_known_by_its_display_name() {
    let list: GeminiOperationList = serde_json::from_str(
        &json!({"nextPageToken": "t", "operations": [
            {"name": "batches/1", "metadata": {"displayName": "sub_1", "createTime": "2026-11-15T12:00:00Z", "batchStats": {"requestCount": "3"}}},
            {"name": "batches/2", "metadata": {"displayName": "sub_2", "createTime": "2026-11-15T12:00:00Z"}},
        ]})
        .to_string(),
    )
    .unwrap();
    let search = JobSearch {
        label: SubmissionLabel("sub_1".to_owned()),
        upload: None,
        items: 3,
        since: DateTime::default(),
    };
    let page = list.into_page(&search);
    let jobs: Vec<_> = page
        .jobs
        .iter()
        .map(|it| (it.job.0.as_str(), it.items, it.is_exact))
        .collect();
    assert_eq!(
        jobs,
        [("batches/1", Some(3), true), ("batches/2", None, false)]
    );
    assert_eq!(page.next.as_deref(), Some("t"));
}
