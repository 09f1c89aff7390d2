//! Lanes and providers that an operator pauses.

use std::time::Duration;

use domain::lane::LaneId;
use store::shard::{lane, provider};
use workers::stage::{Stage as _, Step};

use crate::support::http::chat;
use crate::support::{MOCK_DELAY, Service};

/// So long a gatherer may not know.
const STALE: Duration = Duration::from_millis(200);

/// The first lane of the north shard.
async fn first_lane(service: &Service) -> LaneId {
    lane::all(&service.north).await.unwrap()[0].0
}

async fn gather(service: &mut Service) -> Step {
    let now = service.clock.advance(STALE);
    service.crews[0].gather.step(now).await.unwrap()
}

#[tokio::test]
async fn nothing_is_gathered_in_a_paused_lane_until_it_is_resumed() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    service.load(&customer, &chat("first", None)).await;
    assert_eq!(gather(&mut service).await, Step::Did(1));
    let lane = first_lane(&service).await;
    let why = Some("the model is replaced");
    let now = service.now();
    let paused = lane::pause(&service.north, lane, "somebody", why, now).await;
    assert!(paused.unwrap());

    let cargo = service.load(&customer, &chat("second", None)).await;
    assert_eq!(gather(&mut service).await, Step::Idle);
    let waiting = &service.track(&customer, &cargo).await["waiting"];
    insta::assert_json_snapshot!(waiting, @r#"
    {
      "reason": "paused by the operator: the model is replaced",
      "since": "2026-01-01T00:00:00.200000Z",
      "expected_at": null
    }
    "#);
    // Whoever gathers it next knows too.
    let mut heir = service.another_crew().await;
    std::mem::swap(&mut service.crews[0], &mut heir);
    heir.leave().await.unwrap();
    assert_eq!(gather(&mut service).await, Step::Idle);

    assert!(lane::resume(&service.north, lane).await.unwrap());
    assert!(!lane::resume(&service.north, lane).await.unwrap());
    assert_eq!(gather(&mut service).await, Step::Did(1));
}

#[tokio::test]
async fn a_paused_lane_holds_no_deadline_up() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    let cargo = service.load(&customer, &chat("late", None)).await;
    let (lane, now) = (first_lane(&service).await, service.now());
    lane::pause(&service.north, lane, "somebody", None, now)
        .await
        .unwrap();
    let now = service.clock.advance(Duration::from_hours(25));
    service.crews[0].gather.step(now).await.unwrap();
    service.crews[0].sweep.step(now).await.unwrap();
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["status"], "COMPLETED");
    assert_eq!(record["error"], "the deadline of 24 hours has passed");
}

#[tokio::test]
async fn a_provider_that_an_operator_paused_is_not_tried_by_itself() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    let cargo = service.load(&customer, &chat("wait", None)).await;
    let (north, now) = (service.north.clone(), service.now());
    provider::pause(&north, "mock", "for repairs", None, now)
        .await
        .unwrap();
    // A worker's own pause, and its end, change nothing about it.
    let soon = Some(now + chrono::TimeDelta::minutes(5));
    provider::pause(&north, "mock", "the account cannot pay", soon, now)
        .await
        .unwrap();
    provider::recover(&north, "mock").await.unwrap();
    for _ in 0..3 {
        service.clock.advance(Duration::from_hours(1));
        service.work().await;
    }
    let waiting = &service.track(&customer, &cargo).await["waiting"];
    insta::assert_json_snapshot!(waiting["reason"], @r#""its provider is paused: for repairs; the operator can mend it""#);

    assert!(provider::resume(&north, "mock").await.unwrap());
    provider::wake(&north, "mock", service.now()).await.unwrap();
    service.work().await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");
}
