//! Anthropic's batches with faults.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use simulator::{FaultName, SimulatedFault, SimulatedPace, SimulatedProvider};

use crate::anthropic::request;
use crate::support::TestSimulator;

async fn start() -> TestSimulator {
    TestSimulator::start(SimulatedProvider::Anthropic).await
}

#[tokio::test]
async fn a_good_answer_can_say_when_to_come_again() {
    let stage = start().await;
    let id = stage.create_message_batch(&["x"]).await;
    let path = format!("/v1/messages/batches/{id}");
    stage.set_fault(SimulatedFault::new(FaultName::RetryAfter));
    let polled = stage.get(&path).await;
    assert_eq!(
        (polled.status, polled.header("retry-after")),
        (200, Some("10"))
    );
    stage.finish_jobs();
    assert_eq!(stage.get(&path).await.header("retry-after"), None);
}

#[tokio::test]
async fn a_create_call_is_refused_in_the_shapes_of_anthropic() {
    let stage = start().await;
    let body = json!({"requests": [request("a", "x")]});
    let refusals = [
        (FaultName::Create529, 529, "overloaded_error"),
        (FaultName::Create429, 429, "rate_limit_error"),
        (FaultName::OutOfFunds, 402, "billing_error"),
        (FaultName::Unauthorized, 401, "authentication_error"),
        (FaultName::Create500After, 500, "api_error"),
        (FaultName::TokenLimit, 429, "rate_limit_error"),
    ];
    for (name, status, kind) in refusals {
        stage.set_fault(SimulatedFault::once(name));
        let refused = stage.post("/v1/messages/batches", &body).await;
        assert_eq!(refused.status, status, "{name:?}");
        assert_eq!(refused.json()["error"]["type"], kind, "{name:?}");
    }
    stage.set_fault(SimulatedFault::once(FaultName::Create413Html));
    let refused = stage.post("/v1/messages/batches", &body).await;
    assert_eq!(refused.status, 413);
    assert!(refused.text().starts_with("<html>"));
}

#[tokio::test]
async fn items_that_wait_are_limited_when_created() {
    let stage = start().await;
    let mut fault = SimulatedFault::new(FaultName::EnqueuedLimit);
    fault.requests = Some(3);
    stage.set_fault(fault);
    stage.create_message_batch(&["a", "b"]).await;
    let body = json!({"requests": [request("a", "x"), request("b", "x")]});
    assert_eq!(stage.post("/v1/messages/batches", &body).await.status, 429);
    stage.finish_jobs();
    assert_eq!(stage.post("/v1/messages/batches", &body).await.status, 200);
}

#[tokio::test]
async fn a_cancel_can_leave_a_mix_of_results() {
    let stage = start().await;
    stage.set_pace(SimulatedPace {
        running_ms: 1000,
        ..SimulatedPace::default()
    });
    stage.set_fault(SimulatedFault::new(FaultName::CancelMixed));
    let id = stage.create_message_batch(&["a", "b", "c", "d"]).await;
    stage
        .post(&format!("/v1/messages/batches/{id}/cancel"), &json!({}))
        .await
        .expect_ok();
    stage.finish_jobs();
    let lines = stage.get_results(&id).await;
    let types: BTreeSet<&str> = lines
        .iter()
        .map(|it| it["result"]["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types,
        BTreeSet::from(["succeeded", "errored", "canceled", "expired"])
    );
}

#[tokio::test]
async fn results_can_be_gone_and_are_after_29_days() {
    let stage = start().await;
    let id = stage.create_message_batch(&["a"]).await;
    stage.finish_jobs();
    let path = format!("/v1/messages/batches/{id}/results");
    stage.set_fault(SimulatedFault::once(FaultName::ResultsGone));
    assert_eq!(stage.get(&path).await.status, 404);
    assert_eq!(stage.get(&path).await.status, 200);
    stage.simulator.advance(Duration::from_hours(29 * 24));
    assert_eq!(stage.get(&path).await.status, 404);
    let archived = stage
        .get(&format!("/v1/messages/batches/{id}"))
        .await
        .expect_ok();
    assert!(archived["archived_at"].is_string());
    assert_eq!(archived["results_url"], Value::Null);
}

#[tokio::test]
async fn an_expired_batch_ends_with_expired_items() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::new(FaultName::ExpirePartial));
    let id = stage.create_message_batch(&["a", "b"]).await;
    stage.simulator.advance(Duration::from_hours(24));
    let ended = stage
        .get(&format!("/v1/messages/batches/{id}"))
        .await
        .expect_ok();
    assert_eq!(ended["processing_status"], "ended");
    let types: Vec<Value> = stage
        .get_results(&id)
        .await
        .iter()
        .map(|it| it["result"]["type"].clone())
        .collect();
    assert_eq!(types, ["succeeded", "expired"]);
}

#[tokio::test]
async fn results_can_be_cut_shuffled_doubled_and_made_up() {
    let stage = start().await;
    stage.set_faults(vec![
        SimulatedFault::new(FaultName::Shuffle),
        SimulatedFault::new(FaultName::DuplicateLines),
        SimulatedFault::new(FaultName::UnknownLines),
        SimulatedFault::new(FaultName::UsageMissing),
        SimulatedFault::new(FaultName::SafetyBlock),
    ]);
    let id = stage.create_message_batch(&["a", "b", "c", "d"]).await;
    stage.finish_jobs();
    let lines = stage.get_results(&id).await;
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[4], lines[0]);
    assert_eq!(lines[5]["custom_id"], "unknown-0");
    let message = &lines[0]["result"]["message"];
    assert_eq!(
        (message.get("usage"), &message["content"]),
        (None, &json!([]))
    );
    stage.set_fault(SimulatedFault::once(FaultName::TruncateDownload));
    let path = format!("/v1/messages/batches/{id}/results");
    let cut = stage.send("GET", &path, &[], "").await.err();
    assert!(cut.is_some_and(|it| it.starts_with("cut")));
}
