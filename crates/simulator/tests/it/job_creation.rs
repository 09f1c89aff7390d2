//! Failed creations of jobs and their records.

use std::pin::pin;
use std::time::Duration;

use futures::FutureExt as _;
use serde_json::{Value, json};
use simulator::{FaultName, SimulatedFault, SimulatedProvider, SimulatedSubmission, rule};

use crate::support::{TEST_KEY, TestSimulator, openai_line};

async fn start() -> TestSimulator {
    TestSimulator::start(SimulatedProvider::OpenAi).await
}

async fn try_create(stage: &TestSimulator) -> Result<u16, String> {
    let seen = stage.try_create_batch(&[openai_line("a0", "x")]).await?;
    Ok(seen.status)
}

fn last_submission(stage: &TestSimulator) -> SimulatedSubmission {
    let seen = stage
        .simulator
        .submissions(SimulatedProvider::OpenAi, TEST_KEY);
    seen.last().cloned().expect("a submission")
}

#[tokio::test]
async fn a_submission_is_on_record_with_its_label_and_its_ids() {
    let stage = start().await;
    let lines = [openai_line("b", "x"), openai_line("a", "y")];
    let id = stage.try_create_batch(&lines).await.unwrap().expect_ok()["id"].clone();
    let seen = last_submission(&stage);
    assert_eq!(seen.label.as_deref(), Some("sub-1"));
    assert_eq!(json!(seen.job), id);
    assert_eq!(seen.items, 2);
    assert_eq!(seen.ids_sha256, rule::ids_digest(vec!["a", "b"]));
    assert_eq!((seen.status, seen.answered), (Some(200), true));
}

#[tokio::test]
async fn a_job_can_be_created_though_its_creator_is_told_otherwise() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::once(FaultName::Create500After));
    assert_eq!(try_create(&stage).await, Ok(500));
    stage.set_fault(SimulatedFault::once(FaultName::CreateDropAfter));
    assert!(
        try_create(&stage)
            .await
            .unwrap_err()
            .starts_with("no answer")
    );
    stage.set_fault(SimulatedFault::once(FaultName::CreateDropBody));
    assert!(try_create(&stage).await.unwrap_err().starts_with("cut"));
    let seen = stage
        .simulator
        .submissions(SimulatedProvider::OpenAi, TEST_KEY);
    assert!(seen.iter().all(|it| it.job.is_some() && !it.answered));
    let statuses: Vec<Option<u16>> = seen.iter().map(|it| it.status).collect();
    assert_eq!(statuses, [Some(500), None, Some(200)]);
    let listed = stage.get("/v1/batches").await.expect_ok();
    assert_eq!(listed["data"].as_array().unwrap().len(), 3);
    assert_eq!(listed["data"][0]["metadata"]["submission_id"], "sub-1");
}

#[tokio::test]
async fn a_job_can_be_created_and_its_creator_left_waiting() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::once(FaultName::CreateHangAfter));
    let lines = [openai_line("a0", "x")];
    let mut waiting = pin!(stage.try_create_batch(&lines));
    while stage
        .simulator
        .jobs(SimulatedProvider::OpenAi, TEST_KEY)
        .is_empty()
    {
        assert!((&mut waiting).now_or_never().is_none(), "too early");
        tokio::task::yield_now().await;
    }
    stage.simulator.advance(Duration::from_hours(1));
    assert!((&mut waiting).now_or_never().is_none(), "answered");
    assert_eq!(
        (
            last_submission(&stage).status,
            last_submission(&stage).answered
        ),
        (None, false)
    );
}

#[tokio::test]
async fn any_call_can_stall_for_a_while() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::once(FaultName::Stall).seconds(20));
    let mut waiting = pin!(stage.get("/v1/batches"));
    while !stage
        .simulator
        .faults(SimulatedProvider::OpenAi, TEST_KEY)
        .is_empty()
    {
        assert!((&mut waiting).now_or_never().is_none(), "too early");
        tokio::task::yield_now().await;
    }
    stage.simulator.advance(Duration::from_secs(20));
    assert_eq!(waiting.await.status, 200);
}

#[tokio::test]
async fn a_job_that_is_refused_does_not_come_to_be() {
    let stage = start().await;
    let refusals = [
        (FaultName::Create500Before, 500),
        (FaultName::Create503, 503),
        (FaultName::Create529, 529),
        (FaultName::Create429, 429),
        (FaultName::OutOfFunds, 429),
    ];
    for (name, status) in refusals {
        stage.set_fault(SimulatedFault::once(name));
        assert_eq!(try_create(&stage).await, Ok(status), "{name:?}");
        assert_eq!(last_submission(&stage).job, None, "{name:?}");
    }
    stage.set_fault(SimulatedFault::once(FaultName::CreateDropBefore));
    try_create(&stage).await.unwrap_err();
    assert!(
        stage
            .simulator
            .jobs(SimulatedProvider::OpenAi, TEST_KEY)
            .is_empty()
    );
    assert_eq!(try_create(&stage).await, Ok(200));
}

#[tokio::test]
async fn refusals_say_why_in_the_shape_of_openai() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::once(FaultName::OutOfFunds));
    let refused = stage
        .try_create_batch(&[openai_line("a0", "x")])
        .await
        .unwrap();
    assert_eq!(refused.json()["error"]["code"], "insufficient_quota");
    stage.set_fault(SimulatedFault::once(FaultName::Create429).seconds(9));
    let refused = stage
        .try_create_batch(&[openai_line("a0", "x")])
        .await
        .unwrap();
    assert_eq!(refused.header("retry-after"), Some("9"));
    stage.set_fault(SimulatedFault::once(FaultName::Create413Html));
    let refused = stage
        .try_create_batch(&[openai_line("a0", "x")])
        .await
        .unwrap();
    assert_eq!(refused.header("content-type"), Some("text/html"));
    stage.set_fault(SimulatedFault::once(FaultName::Unauthorized));
    let refused = stage.get("/v1/batches").await;
    assert_eq!(refused.status, 401);
    assert_eq!(refused.json()["error"]["code"], "invalid_api_key");
}

#[tokio::test]
async fn a_new_job_can_be_invisible_for_a_while() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::once(FaultName::ListLag).seconds(10));
    let id = stage.create_batch(&["x"]).await;
    let count = async || {
        stage.get("/v1/batches").await.expect_ok()["data"]
            .as_array()
            .map(Vec::len)
    };
    assert_eq!(count().await, Some(0));
    assert_eq!(stage.get(&format!("/v1/batches/{id}")).await.status, 404);
    stage.simulator.advance(Duration::from_secs(10));
    assert_eq!(count().await, Some(1));
    assert_eq!(stage.get_batch(&id).await["status"], "completed");
}

#[tokio::test]
async fn a_new_file_can_be_invisible_for_a_while() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::once(FaultName::FileLag).seconds(1));
    let file = stage.upload(openai_line("a", "x")).await.expect_ok();
    let body = json!({"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"});
    assert_eq!(stage.post("/v1/batches", &body).await.status, 404);
    stage.simulator.advance(Duration::from_secs(1));
    assert_eq!(stage.post("/v1/batches", &body).await.status, 200);
}

#[tokio::test]
async fn calls_are_limited_by_the_minute_and_creations_by_the_hour() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::new(FaultName::Rpm).limit(2));
    let first = stage.get("/v1/batches").await;
    assert_eq!(first.header("x-ratelimit-remaining-requests"), Some("1"));
    assert_eq!(stage.get("/v1/batches").await.status, 200);
    let third = stage.get("/v1/batches").await;
    assert_eq!(
        (third.status, third.header("retry-after")),
        (429, Some("60"))
    );
    stage.simulator.advance(Duration::from_mins(1));
    assert_eq!(stage.get("/v1/batches").await.status, 200);
    stage.set_fault(SimulatedFault::new(FaultName::CreatesPerHour).limit(1));
    assert_eq!(try_create(&stage).await, Ok(200));
    assert_eq!(try_create(&stage).await, Ok(429));
    stage.simulator.advance(Duration::from_hours(1));
    assert_eq!(try_create(&stage).await, Ok(200));
    assert_eq!(last_submission(&stage).items, 1);
}

#[tokio::test]
async fn a_fault_of_one_account_leaves_others_alone() {
    let mut stage = start().await;
    stage.set_fault(SimulatedFault::new(FaultName::Create500Before));
    stage.key = "sk-other".to_owned();
    assert_eq!(try_create(&stage).await, Ok(200));
    let seen: Value = json!(
        stage
            .simulator
            .submissions(SimulatedProvider::OpenAi, TEST_KEY)
    );
    assert_eq!(seen, json!([]));
}
