//! JSONL lines and batch objects of `OpenAI`.

use std::fmt::Write as _;
use std::time::Duration;

use chrono::DateTime;
use domain::route::{ChatApi, Route};
use serde_json::{Value, json};
use uuid::Uuid;

use super::batch::{OpenAiBatch, OpenAiBatchList};
use super::{OpenAiService, line};
use crate::provider::batch_provider::{
    JobOwner, JobSearch, ProviderFileId, SubmissionLabel, UnknownResultLine,
};
use crate::provider::fixtures;
use crate::provider::fixtures::{
    FixtureMedia, chat_with_role, describe, embedding, full_chat, key, route,
};
use crate::provider::item_result::ItemResult;
use crate::provider::media::NoMedia;

fn described_status(batch: &Value) -> String {
    let batch: OpenAiBatch = serde_json::from_value(batch.clone()).unwrap();
    format!("{:?}", batch.into_status(Some(Duration::from_secs(10))))
}

#[test]
fn a_line_names_its_item_and_its_endpoint() {
    let encoded = |item, route: &Route| {
        let line = line::encode(&item, route, &NoMedia, &OpenAiService::OPENAI);
        fixtures::line_text(line.unwrap())
    };
    insta::assert_snapshot!(encoded(chat_with_role("user"), &route()), @r#"{"custom_id":"crg_019b76daa80070008070000000000001-a2","method":"POST","url":"/v1/chat/completions","body":{"model":"theirs","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":5,"safety_identifier":"48578e4c6b8f6aed94d45ceab778c3ff"}}"#);
    insta::assert_snapshot!(encoded(embedding(&json!("a")), &route()), @r#"{"custom_id":"crg_019b76daa80070008070000000000001-a2","method":"POST","url":"/v1/embeddings","body":{"model":"theirs","input":"a","encoding_format":"float"}}"#);
    let responses = Route {
        api: ChatApi::Responses,
        ..route()
    };
    insta::assert_snapshot!(encoded(chat_with_role("user"), &responses), @r#"{"custom_id":"crg_019b76daa80070008070000000000001-a2","method":"POST","url":"/v1/responses","body":{"model":"theirs","input":[{"type":"message","role":"user","content":"Hi"}],"max_output_tokens":5,"store":false,"safety_identifier":"48578e4c6b8f6aed94d45ceab778c3ff"}}"#);
}

#[test]
fn the_same_item_is_the_same_bytes() {
    let encoded = || {
        let line = line::encode(
            &full_chat(),
            &route(),
            &FixtureMedia,
            &OpenAiService::OPENAI,
        );
        line.unwrap()
    };
    assert_eq!(encoded(), encoded());
    fixtures::line_text(encoded());
}

#[test]
fn the_tier_of_a_line_is_not_that_of_the_bill() {
    let body = json!({
        "choices": [{"message": {"content": "t"}, "finish_reason": "stop"}],
        "service_tier": "default",
    });
    let response = json!({"status_code": 200, "body": body});
    let line = json!({"custom_id": key(), "response": response});
    let (_, end) = line::decode(line.to_string().as_bytes()).unwrap();
    let ItemResult::Answer(answer) = end else {
        unreachable!("{end:?}")
    };
    assert_eq!(answer.tier, None);
}

#[test]
fn trap_10_the_usage_of_a_batch_object_changes_nothing() {
    let batch = |usage: Option<Value>| {
        let mut batch = json!({"id": "batch_1", "status": "completed", "output_file_id": "file-1",
            "request_counts": {"total": 1, "completed": 1, "failed": 0}});
        batch["usage"] = usage.unwrap_or_default();
        batch
    };
    // It mixes the names of both APIs, and contradicts the lines.
    let usage = json!({"prompt_tokens": 9_000, "input_tokens": 7_000, "output_tokens": 1,
        "total_tokens": 3, "input_tokens_details": {"cached_tokens": 8_000}});
    assert_eq!(
        described_status(&batch(Some(usage))),
        described_status(&batch(None))
    );
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
        let (item, end) = line::decode(line.to_string().as_bytes()).unwrap();
        assert_eq!(item, key());
        let status = &response["status_code"];
        writeln!(rows, "{status} {}: {}", error["code"], describe(&end)).unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    200 null: "t", EndTurn, 1 in, 2 out
    400 null: failed: request_rejected: m
    404 null: failed: request_rejected: m
    422 null: failed: request_rejected: m
    429 null: retry: status 429
    429 null: account: insufficient_quota (status 429)
    401 null: account: invalid_api_key (status 401)
    500 null: retry: status 500
    503 null: retry: status 503
    null "batch_expired": retry: batch_expired
    null "batch_cancelled": retry: batch_cancelled
    null null: retry: the provider did not run the request
    "#);
}

#[test]
fn a_line_without_a_valid_item_key_is_refused() {
    for line in [
        "",
        "{",
        "{}",
        r#"{"custom_id":"unknown-1","response":null}"#,
        r#"{"custom_id":1}"#,
    ] {
        assert_eq!(
            line::decode(line.as_bytes()),
            Err(UnknownResultLine),
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
        let described =
            described_status(&json!({"id": "b", "status": status, "request_counts": counts}));
        writeln!(rows, "{status}: {described}").unwrap();
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
        writeln!(rows, "{status}: {}", described_status(&batch)).unwrap();
    }
    writeln!(
        rows,
        "vanished: {}",
        described_status(&json!({"error": {"message": "m"}}))
    )
    .unwrap();
    insta::assert_snapshot!(rows, @r#"
    validating: Ok(Running { retry_after: Some(10s), done: 4, total: 10 })
    in_progress: Ok(Running { retry_after: Some(10s), done: 4, total: 10 })
    finalizing: Ok(Running { retry_after: Some(10s), done: 4, total: 10 })
    cancelling: Ok(Running { retry_after: Some(10s), done: 4, total: 10 })
    news: Err(UnreadableResponse)
    completed: Ok(Ended { results: [File("file-1")], end_reason: Completed })
    completed: Ok(Ended { results: [File("file-1"), File("file-2")], end_reason: Completed })
    completed: Ok(Ended { results: [File("file-2")], end_reason: Completed })
    expired: Ok(Ended { results: [File("file-2")], end_reason: Expired })
    cancelled: Ok(Ended { results: [], end_reason: Cancelled })
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
        writeln!(rows, "{}", described_status(&batch)).unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    Ok(Failed { reason: TokenLimit })
    Ok(Failed { reason: InvalidLines([(3, "bad"), (7, "mismatched_model")]) })
    Ok(Failed { reason: Other("empty") })
    Ok(Failed { reason: Other("the provider gave no reason") })
    "#);
}

#[test]
fn a_job_is_known_by_its_label_or_its_upload() {
    let search = JobSearch {
        label: SubmissionLabel("sub_1".to_owned()),
        upload: Some(ProviderFileId("file-1".to_owned())),
        items: 3,
        since: DateTime::default(),
    };
    let list: OpenAiBatchList = serde_json::from_value(json!({
        "object": "list", "has_more": true, "last_id": "c",
        "data": [
            {"id": "a", "created_at": 5, "input_file_id": "file-9", "metadata": {"submission_id": "sub_1", "submitted_by": Uuid::from_u128(5).to_string()}, "request_counts": {"total": 0}},
            {"id": "b", "created_at": 4, "input_file_id": "file-1", "metadata": null, "request_counts": {"total": 3}},
            {"id": "c", "created_at": 3, "input_file_id": "file-9", "metadata": {"submission_id": "sub_2"}},
        ],
    }))
    .unwrap();
    let page = list.into_page();
    assert_eq!(page.next.as_deref(), Some("c"));
    let owner = JobOwner(Uuid::from_u128(5));
    let owners: Vec<_> = page.jobs.iter().map(|it| it.owner).collect();
    assert_eq!(owners, [Some(owner), None, None]);
    let jobs = page.jobs.into_iter().map(|it| it.into_candidate(&search));
    let jobs: Vec<_> = jobs.collect();
    let jobs: Vec<_> = jobs
        .iter()
        .map(|it| (it.job.0.as_str(), it.items, it.is_exact))
        .collect();
    assert_eq!(
        jobs,
        [("a", None, true), ("b", Some(3), true), ("c", None, false)]
    );
}
