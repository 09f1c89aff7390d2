//! Lines and batches of `OpenAI`.

use std::fmt::Write as _;
use std::time::Duration;

use chrono::DateTime;
use serde_json::{Value, json};

use super::batch::{Batch, List};
use super::line;
use crate::provider::jobs::{Label, Sought, Unreadable, Upload};
use crate::provider::media::NoMedia;
use crate::provider::samples;
use crate::provider::samples::{Shelf, embedding, full_chat, key, saying, told};

fn sight(batch: &Value) -> String {
    let batch: Batch = serde_json::from_value(batch.clone()).unwrap();
    format!("{:?}", batch.sight(Some(Duration::from_secs(10))))
}

#[test]
fn a_line_names_its_item_and_its_endpoint() {
    let encoded = line::encode(&saying("user"), "theirs", &NoMedia).unwrap();
    insta::assert_snapshot!(samples::line(encoded), @r#"{"custom_id":"crg_019b76daa80070008070000000000001-a2","method":"POST","url":"/v1/chat/completions","body":{"model":"theirs","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":5}}"#);
    let encoded = line::encode(&embedding(&json!("a")), "theirs", &NoMedia).unwrap();
    insta::assert_snapshot!(samples::line(encoded), @r#"{"custom_id":"crg_019b76daa80070008070000000000001-a2","method":"POST","url":"/v1/embeddings","body":{"model":"theirs","input":"a","encoding_format":"float"}}"#);
}

#[test]
fn the_same_item_is_the_same_bytes() {
    let encoded = || line::encode(&full_chat(), "theirs", &Shelf).unwrap();
    assert_eq!(encoded(), encoded());
    samples::line(encoded());
}

#[test]
fn every_line_of_results_has_its_end() {
    let body = json!({
        "choices": [{"message": {"content": "t"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    });
    let refusal = |status: u16, code: &str| json!({"status_code": status, "body": {"error": {"message": "m", "code": code}}});
    let never_run = |code: &str| json!({"code": code, "message": "m"});
    let mut rows = String::new();
    for (response, error) in [
        (
            json!({"status_code": 200, "request_id": "r", "body": body}),
            Value::Null,
        ),
        (refusal(400, "context_length_exceeded"), Value::Null),
        (refusal(404, "model_not_found"), Value::Null),
        (refusal(422, ""), Value::Null),
        (refusal(429, "rate_limit_exceeded"), Value::Null),
        (refusal(429, "insufficient_quota"), Value::Null),
        (refusal(401, "invalid_api_key"), Value::Null),
        (refusal(500, ""), Value::Null),
        (json!({"status_code": 503, "body": null}), Value::Null),
        (Value::Null, never_run("batch_expired")),
        (Value::Null, never_run("batch_cancelled")),
        (Value::Null, Value::Null),
    ] {
        let line = json!({"id": "b", "custom_id": key(), "response": response, "error": error});
        let (whose, end) = line::decode(line.to_string().as_bytes(), "ours").unwrap();
        assert_eq!(whose, key());
        let status = &response["status_code"];
        writeln!(rows, "{status} {}: {}", error["code"], told(&end)).unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    200 null: "t", EndTurn, 1 in, 2 out
    400 null: failed: m
    404 null: failed: m
    422 null: failed: m
    429 null: again: status 429
    429 null: account: insufficient_quota (status 429)
    401 null: account: invalid_api_key (status 401)
    500 null: again: status 500
    503 null: again: status 503
    null "batch_expired": again: batch_expired
    null "batch_cancelled": again: batch_cancelled
    null null: again: not run
    "#);
}

#[test]
fn a_line_that_names_no_item_of_ours_is_unreadable() {
    for line in [
        "",
        "{",
        "{}",
        r#"{"custom_id":"unknown-1","response":null}"#,
        r#"{"custom_id":1}"#,
    ] {
        assert_eq!(
            line::decode(line.as_bytes(), "ours"),
            Err(Unreadable),
            "{line}"
        );
    }
}

#[test]
fn every_status_of_a_batch_is_understood() {
    let mut rows = String::new();
    let counts = json!({"total": 10, "completed": 3, "failed": 1});
    for status in [
        "validating",
        "in_progress",
        "finalizing",
        "cancelling",
        "news",
    ] {
        let sight = sight(&json!({"id": "b", "status": status, "request_counts": counts}));
        writeln!(rows, "{status}: {sight}").unwrap();
    }
    for (status, output, errors) in [
        ("completed", json!("file-1"), json!("")),
        ("completed", json!("file-1"), json!("file-2")),
        ("completed", Value::Null, json!("file-2")),
        ("expired", Value::Null, json!("file-2")),
        ("cancelled", Value::Null, Value::Null),
    ] {
        let batch =
            json!({"id": "b", "status": status, "output_file_id": output, "error_file_id": errors});
        writeln!(rows, "{status}: {}", sight(&batch)).unwrap();
    }
    writeln!(
        rows,
        "vanished: {}",
        sight(&json!({"error": {"message": "m"}}))
    )
    .unwrap();
    insta::assert_snapshot!(rows, @r#"
    validating: Ok(Running { hint: Some(10s), done: 4, total: 10 })
    in_progress: Ok(Running { hint: Some(10s), done: 4, total: 10 })
    finalizing: Ok(Running { hint: Some(10s), done: 4, total: 10 })
    cancelling: Ok(Running { hint: Some(10s), done: 4, total: 10 })
    news: Err(Unreadable)
    completed: Ok(Ended { results: [Named("file-1")], why: Completed })
    completed: Ok(Ended { results: [Named("file-1"), Named("file-2")], why: Completed })
    completed: Ok(Ended { results: [Named("file-2")], why: Completed })
    expired: Ok(Ended { results: [Named("file-2")], why: Expired })
    cancelled: Ok(Ended { results: [], why: Cancelled })
    vanished: Ok(Gone)
    "#);
}

#[test]
fn a_batch_that_failed_says_why() {
    let mut rows = String::new();
    for errors in [
        json!({"data": [{"code": "token_limit_exceeded", "line": null, "message": "Enqueued token limit reached"}]}),
        json!({"data": [
            {"code": "invalid_json_line", "line": 3, "message": "bad"},
            {"code": "mismatched_model", "line": 7, "message": null},
        ]}),
        json!({"data": [{"code": "empty_file", "line": null, "message": "empty"}]}),
        Value::Null,
    ] {
        let batch = json!({"id": "b", "status": "failed", "errors": errors});
        writeln!(rows, "{}", sight(&batch)).unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    Ok(Failed { reason: TokenLimit })
    Ok(Failed { reason: Lines([(3, "bad"), (7, "mismatched_model")]) })
    Ok(Failed { reason: Other("empty") })
    Ok(Failed { reason: Other("no reason was given") })
    "#);
}

#[test]
fn a_job_is_known_by_its_label_or_its_upload() {
    let sought = Sought {
        label: Label("sub_1".to_owned()),
        upload: Some(Upload("file-1".to_owned())),
        items: 3,
        since: DateTime::default(),
    };
    let list: List = serde_json::from_value(json!({
        "object": "list", "has_more": true, "last_id": "c",
        "data": [
            {"id": "a", "created_at": 5, "input_file_id": "file-9", "metadata": {"submission_id": "sub_1"}, "request_counts": {"total": 0}},
            {"id": "b", "created_at": 4, "input_file_id": "file-1", "metadata": null, "request_counts": {"total": 3}},
            {"id": "c", "created_at": 3, "input_file_id": "file-9", "metadata": {"submission_id": "sub_2"}},
        ],
    }))
    .unwrap();
    let page = list.into_page(&sought);
    assert_eq!(page.next.as_deref(), Some("c"));
    let jobs: Vec<_> = page
        .jobs
        .iter()
        .map(|it| (it.job.0.as_str(), it.items, it.exact))
        .collect();
    assert_eq!(
        jobs,
        [("a", None, true), ("b", Some(3), true), ("c", None, false)]
    );
}
