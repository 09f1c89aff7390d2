//! From load to callback, moved by hand.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::time::Clock as _;
use workers::stage::Stage as _;

use crate::support::http::chat;
use crate::support::receiver::Receiver;
use crate::support::{MOCK_DELAY, Service};

#[tokio::test]
async fn a_cargo_moves_through_every_status_to_its_callback() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let customer = service.customer_on("south").await;
    let cargo = service
        .load(&customer, &chat("Hello, crate.", Some(receiver.url())))
        .await;
    assert_eq!(service.status(&customer, &cargo).await, "PENDING");

    let now = service.now();
    service.crews[1].gather.step(now).await.unwrap();
    assert_eq!(service.status(&customer, &cargo).await, "BATCHED");

    service.crews[1].dispatch.step(now).await.unwrap();
    assert_eq!(service.status(&customer, &cargo).await, "PROCESSING");

    let now = service.clock.advance(MOCK_DELAY);
    service.crews[1].collect.step(now).await.unwrap();
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");

    service.crews[1].deliver.settle(now).await.unwrap();
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );
    let callbacks = receiver.received();
    assert_eq!(callbacks.len(), 1);
    insta::assert_json_snapshot!(callbacks[0], {".cargo_id" => "[cargo]", ".response.id" => "[id]"}, @r#"
    {
      "cargo_id": "[cargo]",
      "success": true,
      "response": {
        "id": "[id]",
        "type": "message",
        "role": "assistant",
        "content": [
          {
            "type": "text",
            "text": "Hello, crate."
          }
        ],
        "model": "svc-mock",
        "stop_reason": "end_turn",
        "usage": {
          "input_tokens": 4,
          "output_tokens": 4
        }
      },
      "error": null
    }
    "#);
}

#[tokio::test]
async fn both_shards_carry_their_own_organizations() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let north = service.customer_on("north").await;
    let south = service.customer_on("south").await;
    let ours = service
        .load(&north, &chat("north", Some(receiver.url())))
        .await;
    let theirs = service
        .load(&south, &chat("south", Some(receiver.url())))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    assert_eq!(service.status(&north, &ours).await, "callback_delivered");
    assert_eq!(service.status(&south, &theirs).await, "callback_delivered");
    let foreign = service
        .get(&south, &format!("/cargo/{ours}/tracking"))
        .await;
    assert_eq!(
        foreign.to_string(),
        "404 {\n  \"detail\": \"Cargo not found\"\n}"
    );
}

#[tokio::test]
async fn attempts_follow_the_schedule_and_no_other_moment() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    receiver.answer([500; 100]);
    let customer = service.customer().await;
    let cargo = service
        .load(&customer, &chat("Refuse me.", Some(receiver.url())))
        .await;
    service.work().await;
    service.clock.advance(MOCK_DELAY);
    let start = service.clock.now();
    let mut attempts = Vec::new();
    // Every half minute of two hours, and the seconds around each promised moment.
    let promised = [0, 30, 150, 750, 2550, 6150];
    let around = promised.iter().flat_map(|at| [at - 1, *at, at + 1]);
    let moments: BTreeSet<i64> = (0..240).map(|half| half * 30).chain(around).collect();
    for second in moments.into_iter().filter(|second| *second >= 0) {
        let elapsed = (service.clock.now() - start).num_seconds();
        service.clock.advance(Duration::from_secs(
            u64::try_from(second - elapsed).unwrap(),
        ));
        let before = receiver.received().len();
        service.work().await;
        attempts.extend((before..receiver.received().len()).map(|_| second));
    }
    assert_eq!(attempts, promised);
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["status"], "callback_failed");
    assert_eq!(record["callback"]["attempts"], 6);
    assert_eq!(record["callback"]["last_status_code"], 500);
    assert_eq!(
        record["callback"]["next_attempt_at"],
        serde_json::Value::Null
    );
    assert_eq!(record["success"], true);
    assert_eq!(record["response"]["content"][0]["text"], "Refuse me.");
}

#[tokio::test]
async fn without_a_callback_completed_is_the_last_status() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    let cargo = service.load(&customer, &chat("Quietly.", None)).await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["status"], "COMPLETED");
    assert_eq!(record["callback"], serde_json::Value::Null);
}

#[tokio::test]
async fn cargo_that_nobody_gathers_fails_at_its_deadline() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let customer = service.customer().await;
    let cargo = service
        .load(&customer, &chat("Forgotten.", Some(receiver.url())))
        .await;
    let now = service
        .clock
        .advance(Duration::from_hours(24) + Duration::from_secs(1));
    service.crews[0].sweep.step(now).await.unwrap();
    let record = service.track(&customer, &cargo).await;
    assert_eq!(
        (&record["status"], &record["success"]),
        (&"COMPLETED".into(), &false.into())
    );
    service.work().await;
    assert_eq!(
        receiver.received()[0]["error"],
        "the deadline of 24 hours has passed"
    );
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );
}
