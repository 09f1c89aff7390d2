//! Lanes and providers that an operator pauses.

use std::time::Duration;

use domain::lane::LaneId;
use store::shard::{lane, provider};
use workers::stage::{Stage as _, StepResult};

use crate::support::http::chat_request;
use crate::support::{MOCK_DELAY, TestService};

/// How long gather may not know about a change of a lane.
const LANE_REFRESH_INTERVAL: Duration = Duration::from_millis(200);

/// The first lane of the north shard.
async fn first_lane(service: &TestService) -> LaneId {
    lane::list(&service.north).await.unwrap()[0].0
}

async fn step_gather(service: &mut TestService) -> StepResult {
    let now = service.clock.advance(LANE_REFRESH_INTERVAL);
    service.worker_sets[0].gather.step(now).await.unwrap()
}

#[tokio::test]
async fn nothing_is_gathered_in_a_paused_lane_until_it_is_resumed() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    service.load(&customer, &chat_request("first", None)).await;
    assert_eq!(step_gather(&mut service).await, StepResult::Processed(1));
    let lane = first_lane(&service).await;
    let why = Some("the model is replaced");
    let now = service.now();
    let paused = lane::pause(&service.north, lane, "operator", why, now).await;
    assert!(paused.unwrap());

    let cargo = service.load(&customer, &chat_request("second", None)).await;
    assert_eq!(step_gather(&mut service).await, StepResult::Idle);
    let waiting = &service.track(&customer, &cargo).await["waiting"];
    insta::assert_json_snapshot!(waiting, @r#"
    {
      "code": "paused_by_operator",
      "reason": "paused by the operator: the model is replaced",
      "since": "2026-01-01T00:00:00.200000Z",
      "expected_at": null
    }
    "#);
    // The next worker that gathers the lane knows about the pause too.
    let mut successor = service.join_another_worker_set().await;
    std::mem::swap(&mut service.worker_sets[0], &mut successor);
    successor.leave().await.unwrap();
    assert_eq!(step_gather(&mut service).await, StepResult::Idle);

    assert!(lane::resume(&service.north, lane).await.unwrap());
    assert!(!lane::resume(&service.north, lane).await.unwrap());
    assert_eq!(step_gather(&mut service).await, StepResult::Processed(1));
}

#[tokio::test]
async fn deadlines_pass_in_a_paused_lane() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("late", None)).await;
    let (lane, now) = (first_lane(&service).await, service.now());
    lane::pause(&service.north, lane, "operator", None, now)
        .await
        .unwrap();
    let now = service.clock.advance(Duration::from_hours(25));
    service.worker_sets[0].gather.step(now).await.unwrap();
    service.worker_sets[0].sweep.step(now).await.unwrap();
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["status"], "COMPLETED");
    assert_eq!(record["error"], "the deadline of 24 hours has passed");
}

#[tokio::test]
async fn a_provider_paused_by_an_operator_is_not_retried_automatically() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("wait", None)).await;
    let (north, now) = (service.north.clone(), service.now());
    provider::pause(&north, "mock", "for repairs", None, now)
        .await
        .unwrap();
    // A pause by a worker and its end do not change the operator's pause.
    let soon = Some(now + chrono::TimeDelta::minutes(5));
    provider::pause(
        &north,
        "mock",
        "provider account is out of credit (billing limit reached)",
        soon,
        now,
    )
    .await
    .unwrap();
    provider::end_automatic_pause(&north, "mock").await.unwrap();
    for _ in 0..3 {
        service.clock.advance(Duration::from_hours(1));
        service.run_until_idle().await;
    }
    let waiting = &service.track(&customer, &cargo).await["waiting"];
    insta::assert_json_snapshot!(waiting["reason"], @r#""the provider is paused: for repairs; the operator can resolve this""#);

    assert!(provider::resume(&north, "mock").await.unwrap());
    provider::wake_waiting(&north, "mock", service.now())
        .await
        .unwrap();
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");
}
