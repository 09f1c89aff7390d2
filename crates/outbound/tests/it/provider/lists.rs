//! Job lists, read until the jobs are older than the search allows.

use domain::time::to_wire;
use outbound::provider::batch_provider::{BatchProvider as _, JobCandidate};
use outbound::provider::client::ProviderCallFailure;
use serde_json::{Value, json};
use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};

use super::{TIMEOUTS, anthropic, at, base, gemini, job_search, openai};

fn page(body: &Value) -> ScriptedReply {
    plain_reply(200, &body.to_string())
}

fn openai_batch(id: &str, seconds: i64, label: &str) -> Value {
    json!({"id": id, "created_at": at(seconds).timestamp(), "metadata": {"submission_id": label}})
}

fn anthropic_batch(id: &str, seconds: i64, items: u64) -> Value {
    json!({
        "id": id, "processing_status": "in_progress", "created_at": to_wire(at(seconds)),
        "request_counts": {"processing": items},
    })
}

fn ids(found: Result<Vec<JobCandidate>, ProviderCallFailure>) -> Vec<(String, bool)> {
    let found = found.unwrap().into_iter();
    found.map(|it| (it.job.0, it.is_exact)).collect()
}

fn paths(receiver: &ScriptedReceiver) -> Vec<String> {
    let heads = receiver.received().into_iter();
    heads
        .map(|it| it.head.split(' ').nth(1).unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn pages_are_read_until_one_is_older() {
    let script = [
        page(&json!({"has_more": true, "last_id": "b", "data": [
            openai_batch("a", 50, "other"), openai_batch("b", 40, "other"),
        ]})),
        // An older job out of order does not end the search.
        page(&json!({"has_more": true, "last_id": "d", "data": [
            openai_batch("c", 5, "sub_1"), openai_batch("d", 20, "sub_1"),
        ]})),
        page(&json!({"has_more": true, "last_id": "e", "data": [openai_batch("e", 5, "sub_1")]})),
        plain_reply(500, ""),
    ];
    let receiver = ScriptedReceiver::start(script).await;
    let provider = openai(&base(&receiver), TIMEOUTS);
    let found = provider.find_jobs(&job_search(1, at(10))).await;
    assert_eq!(ids(found), [("d".to_owned(), true)]);
    assert_eq!(
        paths(&receiver),
        [
            "/batches?limit=100",
            "/batches?limit=100&after=b",
            "/batches?limit=100&after=d"
        ]
    );
}

#[tokio::test]
async fn a_list_that_could_not_be_read_to_its_end_finds_nothing_out() {
    let first = page(&json!({"has_more": true, "data": [openai_batch("a", 50, "other")]}));
    for broken in [
        plain_reply(500, ""),
        plain_reply(200, "nonsense"),
        plain_reply(429, ""),
    ] {
        let receiver = ScriptedReceiver::start([first.clone(), broken]).await;
        let provider = openai(&base(&receiver), TIMEOUTS);
        assert!(provider.find_jobs(&job_search(1, at(10))).await.is_err());
    }
}

#[tokio::test]
async fn without_a_label_a_job_is_matched_by_creation_time_and_size() {
    let script = [
        page(&json!({"has_more": true, "last_id": "b", "data": [
            anthropic_batch("a", 50, 3), anthropic_batch("b", 40, 4),
        ]})),
        page(&json!({"has_more": false, "last_id": "d", "data": [
            anthropic_batch("c", 10, 3), anthropic_batch("d", 9, 3),
        ]})),
    ];
    let receiver = ScriptedReceiver::start(script).await;
    let provider = anthropic(&base(&receiver), TIMEOUTS);
    let found = provider.find_jobs(&job_search(3, at(10))).await;
    assert_eq!(
        ids(found),
        [("a".to_owned(), false), ("c".to_owned(), false)]
    );
    assert_eq!(
        paths(&receiver)[1],
        "/v1/messages/batches?limit=1000&after_id=b"
    );
}

#[tokio::test]
async fn gemini_gives_a_token_for_the_next_page() {
    let operation = |name: &str, label: &str| json!({"name": name, "metadata": {"displayName": label, "createTime": to_wire(at(20))}});
    let script = [
        page(&json!({"operations": [operation("batches/a", "other")], "nextPageToken": "t=1"})),
        page(&json!({"operations": [operation("batches/b", "sub_1")]})),
    ];
    let receiver = ScriptedReceiver::start(script).await;
    let provider = gemini(&base(&receiver), TIMEOUTS);
    let found = provider.find_jobs(&job_search(3, at(10))).await;
    assert_eq!(ids(found), [("batches/b".to_owned(), true)]);
    assert_eq!(
        paths(&receiver)[1],
        "/v1beta/batches?pageSize=50&pageToken=t%3D1"
    );

    let receiver = ScriptedReceiver::start([plain_reply(200, "{}")]).await;
    let provider = gemini(&base(&receiver), TIMEOUTS);
    assert_eq!(ids(provider.find_jobs(&job_search(3, at(10))).await), []);
}
