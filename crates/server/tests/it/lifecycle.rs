//! The lifecycle of a cargo from load to callback, step by step.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::time::Clock as _;
use test_support::callback_receiver::CallbackReceiver;
use workers::stage::Stage as _;

use crate::support::http::chat_request;
use crate::support::{MOCK_DELAY, TestService};

#[tokio::test]
async fn a_cargo_moves_through_every_status_to_its_callback() {
    let mut service = TestService::with_second_shard().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer_on("south").await;
    let cargo = service
        .load(
            &customer,
            &chat_request("Hello, crate.", Some(receiver.url())),
        )
        .await;
    assert_eq!(service.status(&customer, &cargo).await, "PENDING");

    let now = service.now();
    service.worker_sets[1].gather.step(now).await.unwrap();
    assert_eq!(service.status(&customer, &cargo).await, "BATCHED");

    service.worker_sets[1].dispatch.step(now).await.unwrap();
    assert_eq!(service.status(&customer, &cargo).await, "PROCESSING");

    let now = service.clock.advance(MOCK_DELAY);
    service.worker_sets[1].collect.step(now).await.unwrap();
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");

    service.worker_sets[1]
        .deliver
        .run_until_idle(now)
        .await
        .unwrap();
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );
    let callbacks = receiver.callbacks();
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
async fn each_shard_processes_its_own_organizations() {
    let mut service = TestService::with_second_shard().await;
    let receiver = CallbackReceiver::new().await;
    let north = service.create_customer_on("north").await;
    let south = service.create_customer_on("south").await;
    let own = service
        .load(&north, &chat_request("north", Some(receiver.url())))
        .await;
    let other = service
        .load(&south, &chat_request("south", Some(receiver.url())))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(service.status(&north, &own).await, "callback_delivered");
    assert_eq!(service.status(&south, &other).await, "callback_delivered");
    let foreign = service.get(&south, &format!("/cargo/{own}/tracking")).await;
    assert_eq!(
        foreign.to_string(),
        "404 {\n  \"detail\": \"Cargo not found\"\n}"
    );
}

#[tokio::test]
async fn callback_attempts_follow_the_retry_schedule() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    receiver.queue_statuses([500; 100]);
    let customer = service.create_customer().await;
    let cargo = service
        .load(&customer, &chat_request("Refuse me.", Some(receiver.url())))
        .await;
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    let start = service.clock.now();
    let mut attempts = Vec::new();
    // Every half minute of two hours, and the seconds around each scheduled attempt.
    let scheduled = [0, 30, 150, 750, 2550, 6150];
    let around = scheduled.iter().flat_map(|at| [at - 1, *at, at + 1]);
    let moments: BTreeSet<i64> = (0..240).map(|half| half * 30).chain(around).collect();
    for second in moments.into_iter().filter(|second| *second >= 0) {
        let elapsed = (service.clock.now() - start).num_seconds();
        service.clock.advance(Duration::from_secs(
            u64::try_from(second - elapsed).unwrap(),
        ));
        let before = receiver.callbacks().len();
        service.run_until_idle().await;
        attempts.extend((before..receiver.callbacks().len()).map(|_| second));
    }
    assert_eq!(attempts, scheduled);
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
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = service
        .load(&customer, &chat_request("Quietly.", None))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["status"], "COMPLETED");
    assert_eq!(record["callback"], serde_json::Value::Null);
}

#[tokio::test]
async fn ungathered_cargo_fails_at_its_deadline() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let cargo = service
        .load(&customer, &chat_request("Forgotten.", Some(receiver.url())))
        .await;
    let now = service
        .clock
        .advance(Duration::from_hours(24) + Duration::from_secs(1));
    service.worker_sets[0].sweep.step(now).await.unwrap();
    let record = service.track(&customer, &cargo).await;
    assert_eq!(
        (&record["status"], &record["success"]),
        (&"COMPLETED".into(), &false.into())
    );
    service.run_until_idle().await;
    let callback = &receiver.callbacks()[0];
    assert_eq!(callback["error"], "the deadline of 24 hours has passed");
    assert_eq!(callback["error_code"], "deadline_exceeded");
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );
}
