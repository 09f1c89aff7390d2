//! Requests, results and operations of Gemini.

use std::fmt::Write as _;
use std::time::Duration;

use chrono::DateTime;
use serde_json::{Value, json};

use super::operation::{List, Operation};
use super::{answer, question};
use crate::provider::Item;
use crate::provider::jobs::{Label, Sought, Unreadable};
use crate::provider::samples;
use crate::provider::samples::{Shelf, about, completion, embedding, full_chat, key, saying, told};

fn asked(item: &Item) -> String {
    question::encode(item, &Shelf).map_or_else(|unfit| format!("unfit: {unfit}"), samples::line)
}

fn result(field: &str, value: &Value) -> String {
    let line = json!({"key": key(), field: value});
    let (whose, end) = answer::decode(line.to_string().as_bytes(), "ours").unwrap();
    assert_eq!(whose, key());
    told(&end)
}

#[test]
fn a_request_keeps_every_parameter() {
    insta::assert_snapshot!(asked(&full_chat()), @r#"{"key":"crg_019b76daa80070008070000000000001-a2","request":{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Hi\n\u0000\"é\""}]},{"role":"model","parts":[{"text":"Yes?"}]},{"role":"user","parts":[{"text":"a"},{"text":"b"}]}],"generationConfig":{"maxOutputTokens":50,"temperature":0.7,"topP":0.9,"topK":40,"stopSequences":["END","\n"]}}}"#);
    assert_eq!(asked(&full_chat()), asked(&full_chat()));
}

#[test]
fn an_embedding_is_of_one_text() {
    insta::assert_snapshot!(asked(&embedding(&json!("a"))), @r#"{"key":"crg_019b76daa80070008070000000000001-a2","request":{"content":{"parts":[{"text":"a"}]}}}"#);
    assert_eq!(
        asked(&embedding(&json!(["a"]))),
        asked(&embedding(&json!("a")))
    );
    insta::assert_snapshot!(asked(&embedding(&json!(["a", "b"]))), @"unfit: the model embeds one text a request");
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
        let asked = asked(&about(kind, file));
        let content = serde_json::from_str::<Value>(&asked).map_or(asked, |line| {
            line["request"]["contents"][0]["parts"][0].to_string()
        });
        writeln!(rows, "{file}: {content}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    image: {"inlineData":{"mimeType":"image/png","data":"aW1hZ2U="}}
    pdf: {"inlineData":{"mimeType":"application/pdf","data":"cGRm"}}
    csv: {"text":"a,b\n1,2"}
    video: {"inlineData":{"mimeType":"video/mp4","data":"dmlkZW8="}}
    gone: unfit: the file gone is no longer there
    "#);
    insta::assert_snapshot!(asked(&saying("system")), @"unfit: a message's role must be user or assistant");
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
    let (_, end) = answer::decode(line.to_string().as_bytes(), "ours").unwrap();
    insta::assert_snapshot!(completion(end), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"Hello."}],"model":"ours","stop_reason":"end_turn","usage":{"input_tokens":11,"output_tokens":305}}"#);
    let line =
        json!({"key": key(), "response": {"embedding": {"values": [0.5, -1]}, "tokenCount": "3"}});
    let (_, end) = answer::decode(line.to_string().as_bytes(), "ours").unwrap();
    insta::assert_snapshot!(completion(end), @r#"{"id":"emb_019b76daa80070008070000000000001","type":"embedding","model":"ours","embeddings":[[0.5,-1.0]],"usage":{"input_tokens":3,"output_tokens":0}}"#);
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
        let told = result(
            "response",
            &json!({
                "candidates": [{"content": {"parts": parts}, "finishReason": stop}],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2},
            }),
        );
        writeln!(rows, "{stop} {text:?}: {told}").unwrap();
    }
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    writeln!(rows, "no candidate: {}", result("response", &blocked)).unwrap();
    writeln!(rows, "nothing: {}", result("response", &json!({}))).unwrap();
    insta::assert_snapshot!(rows, @r#"
    STOP "t": "t", EndTurn, 1 in, 2 out
    MAX_TOKENS "t": "t", MaxTokens, 1 in, 2 out
    MAX_TOKENS "": "", MaxTokens, 1 in, 2 out
    SAFETY "t": "t", EndTurn, 1 in, 2 out
    SAFETY "": failed: blocked by provider: SAFETY
    RECITATION "": failed: blocked by provider: RECITATION
    PROHIBITED_CONTENT "": failed: blocked by provider: PROHIBITED_CONTENT
    SPII "": failed: blocked by provider: SPII
    BLOCKLIST "": failed: blocked by provider: BLOCKLIST
    MALFORMED_FUNCTION_CALL "": failed: the model stopped for what is not offered: MALFORMED_FUNCTION_CALL
    no candidate: failed: blocked by provider: SAFETY
    nothing: again: the answer has no candidate
    "#);
}

#[test]
fn every_error_has_its_end_by_either_name_and_number() {
    let mut rows = String::new();
    for code in [3, 5, 7, 8, 13, 14, 16, 1, 4, 400, 429, 500] {
        let error = json!({"code": code, "message": "m"});
        let told = result("error", &error);
        assert_eq!(result("status", &error), told);
        writeln!(rows, "{code}: {told}").unwrap();
    }
    insta::assert_snapshot!(rows, @r"
    3: failed: m
    5: failed: m
    7: again: status 403
    8: again: status 429
    13: again: status 500
    14: again: status 503
    16: account: status 401
    1: again: status 499
    4: again: status 504
    400: failed: m
    429: again: status 429
    500: again: status 500
    ");
}

#[test]
fn zeros_are_left_out_but_usage_that_is_missing_or_absurd_is_not_known() {
    let of = |usage: Value| {
        let candidate = json!({"content": {"parts": [{"text": "t"}]}, "finishReason": "STOP"});
        result(
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
    let (whose, _) = answer::decode(line.to_string().as_bytes(), "ours").unwrap();
    assert_eq!(whose, key());
    for line in [
        "",
        "{}",
        r#"{"response":{}}"#,
        r#"{"key":"unknown-1","response":{}}"#,
    ] {
        assert_eq!(
            answer::decode(line.as_bytes(), "ours"),
            Err(Unreadable),
            "{line}"
        );
    }
}

fn operation(state: &str, extra: &Value) -> Operation {
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
        let sight = operation(state, &extra).sight(Some(Duration::from_secs(10)));
        writeln!(rows, "{state} {extra}: {sight:?}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    BATCH_STATE_PENDING {}: Ok(Running { hint: Some(10s), done: 4, total: 10 })
    JOB_STATE_RUNNING {}: Ok(Running { hint: Some(10s), done: 4, total: 10 })
    BATCH_STATE_SUCCEEDED {"done":true,"response":{"responsesFile":"files/batch-1"}}: Ok(Ended { results: [Named("files/batch-1")], why: Completed })
    BATCH_STATE_SUCCEEDED {"metadata":{"state":"BATCH_STATE_SUCCEEDED","output":{"responsesFile":"files/batch-1"}}}: Ok(Ended { results: [Named("files/batch-1")], why: Completed })
    BATCH_STATE_SUCCEEDED {"response":{"inlinedResponses":{"inlinedResponses":[{"response":{}}]}}}: Ok(Ended { results: [OfJob], why: Completed })
    BATCH_STATE_EXPIRED {"error":{"code":4,"message":"expired"}}: Ok(Ended { results: [], why: Expired })
    BATCH_STATE_CANCELLED {"error":{"code":1}}: Ok(Ended { results: [], why: Cancelled })
    BATCH_STATE_FAILED {"error":{"code":3,"message":"bad"}}: Ok(Failed { reason: Other("bad") })
    BATCH_STATE_FAILED {"error":{"code":8,"message":"too many tokens"}}: Ok(Failed { reason: TokenLimit })
    BATCH_STATE_FAILED {}: Ok(Failed { reason: Other("the provider answered with status 500") })
    BATCH_STATE_NEWS {}: Err(Unreadable)
     {}: Ok(Running { hint: Some(10s), done: 4, total: 10 })
     {"done":true}: Err(Unreadable)
    "#);
}

#[test]
fn answers_inside_the_job_become_lines() {
    let text = "{\n  \"response\": {\"inlinedResponses\": {\"inlinedResponses\": [\n    {\"response\":\r\n {\"a\": \"x\\ny\"}},\n {}\n  ]}}\n}";
    let operation: Operation = serde_json::from_str(text).unwrap();
    let lines: Vec<String> = operation.inline_lines().collect();
    assert_eq!(lines, ["{\"response\":   {\"a\": \"x\\ny\"}}\n", "{}\n"]);
    let mirrored = json!({"metadata": {"output": {"inlinedEmbedContentResponses": {"inlinedResponses": [1]}}}});
    let operation: Operation = serde_json::from_str(&mirrored.to_string()).unwrap();
    assert_eq!(operation.inline_lines().collect::<Vec<_>>(), ["1\n"]);
}

#[test]
fn a_job_is_known_by_its_display_name() {
    let list: List = serde_json::from_str(
        &json!({"nextPageToken": "t", "operations": [
            {"name": "batches/1", "metadata": {"displayName": "sub_1", "createTime": "2026-11-15T12:00:00Z", "batchStats": {"requestCount": "3"}}},
            {"name": "batches/2", "metadata": {"displayName": "sub_2", "createTime": "2026-11-15T12:00:00Z"}},
        ]})
        .to_string(),
    )
    .unwrap();
    let sought = Sought {
        label: Label("sub_1".to_owned()),
        upload: None,
        items: 3,
        since: DateTime::default(),
    };
    let page = list.into_page(&sought);
    let jobs: Vec<_> = page
        .jobs
        .iter()
        .map(|it| (it.job.0.as_str(), it.items, it.exact))
        .collect();
    assert_eq!(
        jobs,
        [("batches/1", Some(3), true), ("batches/2", None, false)]
    );
    assert_eq!(page.next.as_deref(), Some("t"));
}
