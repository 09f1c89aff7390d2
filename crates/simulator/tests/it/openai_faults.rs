//! `OpenAI`'s jobs and files with faults.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use simulator::{FaultName, SimulatedFault, SimulatedPace, SimulatedProvider};

use crate::support::{TestResponse, TestSimulator};

const TEXTS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

async fn start() -> TestSimulator {
    TestSimulator::start(SimulatedProvider::OpenAi).await
}

/// A finished batch of six items with these faults.
async fn finished_batch(stage: &TestSimulator, faults: Vec<SimulatedFault>) -> Value {
    stage.set_faults(faults);
    let id = stage.create_batch(&TEXTS).await;
    stage.finish_jobs();
    stage.get_batch(&id).await
}

async fn get_output(stage: &TestSimulator, batch: &Value) -> TestResponse {
    stage.get_content(&batch["output_file_id"]).await
}

fn ids(lines: &[Value]) -> Vec<&str> {
    lines
        .iter()
        .map(|line| line["custom_id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn an_accepted_job_can_fail_for_the_token_limit() {
    let stage = start().await;
    let batch = finished_batch(&stage, vec![SimulatedFault::once(FaultName::TokenLimit)]).await;
    assert_eq!(batch["status"], "failed");
    let error = &batch["errors"]["data"][0];
    assert_eq!(error["code"], "token_limit_exceeded");
    assert_eq!(error["line"], Value::Null);
    assert_eq!(batch["output_file_id"], Value::Null);
    assert_eq!(batch["error_file_id"], Value::Null);
}

#[tokio::test]
async fn enqueued_tokens_are_counted_and_given_back() {
    let stage = start().await;
    // Six words of 3 to 5 letters: 1 or 2 tokens each, 7 in total.
    stage.set_fault(SimulatedFault::new(FaultName::EnqueuedLimit).limit(13));
    let first = stage.create_batch(&TEXTS).await;
    let second = stage.create_batch(&TEXTS).await;
    stage.advance_ms(100);
    assert_eq!(stage.get_batch(&first).await["status"], "in_progress");
    assert_eq!(stage.get_batch(&second).await["status"], "failed");
    stage.finish_jobs();
    let third = stage.create_batch(&TEXTS).await;
    stage.finish_jobs();
    assert_eq!(stage.get_batch(&third).await["status"], "completed");
}

#[tokio::test]
async fn a_stuck_job_expires_with_nothing_done() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::new(FaultName::Stuck));
    let id = stage.create_batch(&TEXTS).await;
    stage.simulator.advance(Duration::from_secs(86_399));
    let stuck = stage.get_batch(&id).await;
    assert_eq!(stuck["status"], "in_progress");
    assert_eq!(stuck["request_counts"]["completed"], 0);
    stage.finish_jobs();
    let expired = stage.get_batch(&id).await;
    assert_eq!(expired["status"], "expired");
    assert_eq!(expired["output_file_id"], Value::Null);
    let errors = stage.get_content(&expired["error_file_id"]).await.lines();
    assert_eq!(errors.len(), 6);
    assert!(
        errors
            .iter()
            .all(|line| line["error"]["code"] == "batch_expired")
    );
}

#[tokio::test]
async fn a_job_can_expire_half_done() {
    let stage = start().await;
    stage.set_pace(SimulatedPace {
        window_ms: Some(5000),
        ..SimulatedPace::default()
    });
    stage.set_fault(SimulatedFault::new(FaultName::ExpirePartial));
    let id = stage.create_batch(&TEXTS).await;
    stage.advance_ms(5000);
    let batch = stage.get_batch(&id).await;
    assert_eq!(batch["status"], "expired");
    assert_eq!(get_output(&stage, &batch).await.lines().len(), 3);
    assert_eq!(
        stage
            .get_content(&batch["error_file_id"])
            .await
            .lines()
            .len(),
        3
    );
}

#[tokio::test]
async fn finalizing_can_take_long_after_all_is_counted() {
    let stage = start().await;
    let batch = finished_batch(
        &stage,
        vec![SimulatedFault::new(FaultName::LongFinalizing).seconds(600)],
    )
    .await;
    assert_eq!(batch["status"], "finalizing");
    assert_eq!(batch["request_counts"]["completed"], 6);
    assert_eq!(batch["output_file_id"], Value::Null);
    stage.simulator.advance(Duration::from_mins(10));
    let id = batch["id"].as_str().unwrap();
    assert_eq!(stage.get_batch(id).await["status"], "completed");
}

#[tokio::test]
async fn a_completed_job_can_have_errors_only() {
    let stage = start().await;
    let batch = finished_batch(&stage, vec![SimulatedFault::new(FaultName::AllFail)]).await;
    assert_eq!(batch["status"], "completed");
    assert_eq!(batch["output_file_id"], Value::Null);
    assert_eq!(
        batch["request_counts"],
        json!({"total": 6, "completed": 0, "failed": 6})
    );
    assert_eq!(
        stage
            .get_content(&batch["error_file_id"])
            .await
            .lines()
            .len(),
        6
    );
}

#[tokio::test]
async fn a_clean_job_can_name_an_empty_error_file() {
    let stage = start().await;
    let batch = finished_batch(
        &stage,
        vec![SimulatedFault::new(FaultName::EmptyErrorFileId)],
    )
    .await;
    assert_eq!(batch["error_file_id"], "");
}

#[tokio::test]
async fn lines_can_be_shuffled_and_none_is_lost() {
    let stage = start().await;
    let batch = finished_batch(&stage, vec![SimulatedFault::new(FaultName::Shuffle)]).await;
    let lines = get_output(&stage, &batch).await.lines();
    let order = ids(&lines);
    let sorted: BTreeSet<&str> = order.iter().copied().collect();
    assert_eq!(sorted.len(), 6);
    assert_ne!(order, sorted.into_iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn lines_can_be_missing_doubled_made_up_and_blank() {
    let stage = start().await;
    let batch = finished_batch(
        &stage,
        vec![SimulatedFault::new(FaultName::MissingLines).limit(2)],
    )
    .await;
    assert_eq!(get_output(&stage, &batch).await.lines().len(), 4);
    let batch = finished_batch(&stage, vec![SimulatedFault::new(FaultName::DuplicateLines)]).await;
    let lines = get_output(&stage, &batch).await.lines();
    assert_eq!((lines.len(), &lines[0]), (7, &lines[6]));
    let batch = finished_batch(&stage, vec![SimulatedFault::new(FaultName::UnknownLines)]).await;
    let lines = get_output(&stage, &batch).await.lines();
    assert_eq!(ids(&lines).last(), Some(&"unknown-0"));
    let batch = finished_batch(&stage, vec![SimulatedFault::new(FaultName::BlankLines)]).await;
    let seen = get_output(&stage, &batch).await;
    assert_eq!(seen.lines().len(), 6);
    assert!(seen.text().ends_with("\n\n"));
}

#[tokio::test]
async fn usage_can_be_missing_or_absurd_throughout() {
    let stage = start().await;
    let batch = finished_batch(&stage, vec![SimulatedFault::new(FaultName::UsageMissing)]).await;
    let lines = get_output(&stage, &batch).await.lines();
    assert!(
        lines
            .iter()
            .all(|line| line["response"]["body"].get("usage").is_none())
    );
    let batch = finished_batch(&stage, vec![SimulatedFault::new(FaultName::UsageAbsurd)]).await;
    let lines = get_output(&stage, &batch).await.lines();
    let tokens = &lines[0]["response"]["body"]["usage"]["total_tokens"];
    assert!(tokens.as_u64().unwrap() > 1_000_000_000);
}

#[tokio::test]
async fn a_download_can_be_cut_so_many_times_and_then_be_whole() {
    let stage = start().await;
    let batch = finished_batch(&stage, vec![]).await;
    stage.set_faults(vec![
        SimulatedFault::new(FaultName::TruncateDownload).times(2),
        SimulatedFault::once(FaultName::Download500),
    ]);
    let path = format!(
        "/v1/files/{}/content",
        batch["output_file_id"].as_str().unwrap()
    );
    assert_eq!(stage.get(&path).await.status, 500);
    for _ in 0..2 {
        let cut = stage
            .send("GET", &path, &[], "")
            .await
            .err()
            .expect("a cut answer");
        assert!(cut.starts_with("cut"), "{cut}");
    }
    assert_eq!(stage.get(&path).await.lines().len(), 6);
}

#[tokio::test]
async fn a_confirmed_deletion_can_leave_the_file() {
    let stage = start().await;
    let batch = finished_batch(&stage, vec![]).await;
    let path = format!("/v1/files/{}", batch["output_file_id"].as_str().unwrap());
    stage.set_fault(SimulatedFault::once(FaultName::DeleteIgnored));
    for expected in [200, 404] {
        stage.delete(&path).await.expect_ok();
        assert_eq!(stage.get(&path).await.status, expected);
    }
}

#[tokio::test]
async fn asking_can_fail_be_refused_or_find_nothing() {
    let stage = start().await;
    let id = stage.create_batch(&["x"]).await;
    let path = format!("/v1/batches/{id}");
    stage.set_fault(SimulatedFault::once(FaultName::Poll500));
    assert_eq!(stage.get(&path).await.status, 500);
    stage.set_fault(SimulatedFault::once(FaultName::Poll429).seconds(7));
    let refused = stage.get(&path).await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("7"))
    );
    stage.set_fault(SimulatedFault::once(FaultName::Vanish));
    let vanished = stage.get(&path).await;
    assert_eq!(vanished.status, 404);
    assert!(vanished.json()["error"]["message"].is_string());
    stage.set_fault(SimulatedFault::once(FaultName::List500));
    assert_eq!(stage.get("/v1/batches").await.status, 500);
    assert_eq!(stage.get(&path).await.status, 200);
}

#[tokio::test]
async fn outputs_are_gone_after_thirty_days() {
    let stage = start().await;
    let batch = finished_batch(&stage, vec![]).await;
    stage.simulator.advance(Duration::from_hours(31 * 24));
    assert_eq!(get_output(&stage, &batch).await.status, 404);
}
