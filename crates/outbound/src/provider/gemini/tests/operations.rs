//! Jobs, their states and the results inside them.

use std::fmt::Write as _;
use std::time::Duration;

use chrono::DateTime;
use serde_json::{Value, json};

use crate::provider::batch_provider::{JobSearch, SubmissionLabel};
use crate::provider::gemini::operation::{GeminiOperation, GeminiOperationList};

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
    let page = list.into_page();
    let jobs = page.jobs.into_iter().map(|it| it.into_candidate(&search));
    let jobs: Vec<_> = jobs.collect();
    let jobs: Vec<_> = jobs
        .iter()
        .map(|it| (it.job.0.as_str(), it.items, it.is_exact))
        .collect();
    assert_eq!(
        jobs,
        [("batches/1", Some(3), true), ("batches/2", None, false)]
    );
    assert_eq!(page.next.as_deref(), Some("t"));
}
