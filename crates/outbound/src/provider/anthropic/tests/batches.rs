//! Batch objects and their lists.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::provider::anthropic::batch::{AnthropicBatch, AnthropicBatchList};

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
    insta::assert_snapshot!(format!("{page:?}"), @r#"JobPage { jobs: [ListedJob { job: ProviderJobId("msgbatch_1"), created_at: Some(2026-11-15T12:00:00.123456Z), items: Some(15), label: None, owner: None, upload: None }], next: None }"#);
}
