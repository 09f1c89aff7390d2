//! The callback of a completed group.

use std::time::Duration;

use domain::callback_settings::CallbackSettingsChange;
use domain::callback_signature::{CallbackSigner, SigningSecret};
use domain::id::GroupId;
use serde_json::{Value, json};
use store::shard::callback_settings;
use test_support::callback_receiver::CallbackReceiver;

use crate::support::listener::TestListener;
use crate::support::signing::signing_roots;
use crate::support::{Customer, TestService};

/// Deliver looks for due callbacks again after this time.
const DISCOVERY_DELAY: Duration = Duration::from_secs(1);
const RETRY_DELAYS: [Duration; 5] = [
    Duration::from_secs(30),
    Duration::from_mins(2),
    Duration::from_mins(10),
    Duration::from_mins(30),
    Duration::from_hours(1),
];

impl TestService {
    async fn create_group_with_callback(&self, customer: &Customer, url: &str) -> String {
        let body = json!({"name": "run", "metadata": {"month": 11}, "callback_url": url});
        let answer = self.post_to_group(customer, "/groups", &body).await;
        assert_eq!(answer.status, 201, "{answer}");
        answer.body["group_id"].as_str().unwrap().to_owned()
    }

    async fn end_group(&self, customer: &Customer, group: &str, how: &str) {
        let path = format!("/groups/{group}/{how}");
        let answer = self.post_to_group(customer, &path, &json!({})).await;
        assert!(answer.status < 300, "{answer}");
    }

    async fn deliver_after(&mut self, delay: Duration) {
        self.clock.advance(delay);
        self.run_until_idle().await;
    }

    /// How far the callback of a group is.
    async fn group_callback(&self, customer: &Customer, group: &str) -> Value {
        let answer = self.get(customer, &format!("/groups/{group}")).await;
        answer.body["callback"].clone()
    }
}

#[tokio::test]
async fn a_completed_group_is_called_back_once() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let group = service
        .create_group_with_callback(&customer, receiver.url())
        .await;
    service
        .load_group_members(&customer, &group, &["One.", "Two."])
        .await;
    service.complete_all_cargo().await;
    service.deliver_after(DISCOVERY_DELAY).await;
    // More cargo may be added.
    assert!(receiver.callbacks().is_empty());
    let callback = service.group_callback(&customer, &group).await;
    assert_eq!(callback["attempts"], 0);
    assert_eq!(callback["next_attempt_at"], Value::Null);
    for _ in 0..2 {
        service.end_group(&customer, &group, "seal").await;
    }
    let callback = service.group_callback(&customer, &group).await;
    assert!(callback["next_attempt_at"].is_string(), "{callback}");
    service.deliver_after(DISCOVERY_DELAY).await;
    service.end_group(&customer, &group, "seal").await;
    service.deliver_after(Duration::from_hours(3)).await;
    let callbacks = receiver.callbacks();
    assert_eq!(callbacks.len(), 1);
    assert_eq!(callbacks[0]["group_id"], json!(group));
    insta::assert_json_snapshot!(callbacks[0], {
        ".group_id" => "[group]", ".completed_at" => "[moment]"
    }, @r#"
    {
      "type": "group.completed",
      "group_id": "[group]",
      "name": "run",
      "status": "completed",
      "completed_at": "[moment]",
      "counts": {
        "total": 2,
        "unfinished": 0,
        "succeeded": 2,
        "failed": 0,
        "cancelled": 0
      },
      "metadata": {
        "month": 11
      }
    }
    "#);
    let callback = service.group_callback(&customer, &group).await;
    assert_eq!(callback["attempts"], 1);
    assert_eq!(callback["last_status_code"], 200);
    assert_eq!(callback["next_attempt_at"], Value::Null);
    assert!(callback["delivered_at"].is_string(), "{callback}");
}

#[tokio::test]
async fn the_last_outcome_of_a_sealed_group_queues_its_callback_and_retries_repeat_its_bytes() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let group = service
        .create_group_with_callback(&customer, receiver.url())
        .await;
    service
        .load_group_members(&customer, &group, &["One."])
        .await;
    service.end_group(&customer, &group, "seal").await;
    receiver.queue_statuses([500]);
    service.complete_all_cargo().await;
    service.deliver_after(DISCOVERY_DELAY).await;
    let callback = service.group_callback(&customer, &group).await;
    assert_eq!(callback["last_status_code"], 500);
    assert_eq!(callback["delivered_at"], Value::Null);
    assert!(callback["next_attempt_at"].is_string(), "{callback}");
    service.deliver_after(RETRY_DELAYS[0]).await;
    let requests = receiver.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, requests[1].body);
    let callback = service.group_callback(&customer, &group).await;
    assert_eq!(callback["attempts"], 2);
    assert!(callback["delivered_at"].is_string(), "{callback}");
}

#[tokio::test]
async fn a_callback_whose_retries_all_fail_shows_its_last_attempt() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let group = service
        .create_group_with_callback(&customer, receiver.url())
        .await;
    receiver.queue_statuses([503; RETRY_DELAYS.len() + 1]);
    service.end_group(&customer, &group, "cancel").await;
    service.deliver_after(DISCOVERY_DELAY).await;
    for delay in RETRY_DELAYS {
        service.deliver_after(delay).await;
    }
    service.deliver_after(Duration::from_hours(3)).await;
    assert_eq!(receiver.callbacks().len(), RETRY_DELAYS.len() + 1);
    assert_eq!(receiver.callbacks()[0]["status"], "cancelled");
    let callback = service.group_callback(&customer, &group).await;
    assert_eq!(callback["attempts"], 6);
    assert_eq!(callback["last_status_code"], 503);
    assert_eq!(callback["next_attempt_at"], Value::Null);
    assert_eq!(callback["delivered_at"], Value::Null);
}

#[tokio::test]
async fn the_callback_of_a_group_is_signed_under_the_id_of_the_group() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let (shard, project) = (&service.north, customer.project);
    let change = CallbackSettingsChange::EnableSigning;
    let settings = callback_settings::change(shard, project, change, service.now()).await;
    let signer = CallbackSigner::new(&signing_roots(), project, &settings.unwrap().unwrap());
    let group = service
        .create_group_with_callback(&customer, receiver.url())
        .await;
    service.end_group(&customer, &group, "seal").await;
    service.deliver_after(DISCOVERY_DELAY).await;
    let request = receiver.requests().pop().unwrap();
    let id: GroupId = group.parse().unwrap();
    let expected = signer
        .unwrap()
        .sign_for_group(id, service.now(), &request.body);
    for (name, value) in expected.pairs() {
        assert_eq!(request.header(name), Some(value));
    }
    assert_eq!(request.header("webhook-id"), Some(group.as_str()));
}

#[tokio::test]
async fn a_listener_gets_the_callback_of_a_group() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut listener = TestListener::connect(&service, &customer, "anna").await;
    let group = service
        .create_group_with_callback(&customer, "listen://anna")
        .await;
    service.end_group(&customer, &group, "seal").await;
    service.clock.advance(DISCOVERY_DELAY);
    let answering = async {
        let (_, callback) = listener.next_event().await.unwrap();
        let answer = json!({"delivery_id": callback["delivery_id"], "status": 200});
        assert_eq!(listener.answer(&answer).await.status, 204);
        callback
    };
    let (callback, ()) = tokio::join!(answering, service.run_until_idle());
    assert_eq!(callback["headers"]["webhook-id"], json!(group));
    let name = "anna".parse().unwrap();
    let secret = SigningSecret::of_listener(customer.key.as_bytes(), customer.project, &name);
    let body = callback["body"].as_str().unwrap().as_bytes();
    let id: GroupId = group.parse().unwrap();
    let signer = CallbackSigner::with_secret(secret);
    let seconds: i64 = callback["headers"]["webhook-timestamp"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let moment = domain::time::Timestamp::from_timestamp(seconds, 0).unwrap();
    let expected = signer.sign_for_group(id, moment, body);
    let [_, _, (_, expected)] = expected.pairs();
    assert_eq!(callback["headers"]["webhook-signature"], json!(expected));
    let record = service.group_callback(&customer, &group).await;
    assert!(record["delivered_at"].is_string(), "{record}");
}

#[tokio::test]
async fn a_group_without_a_callback_url_has_no_callback() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = service.create_named_group(&customer, "silent").await;
    service.end_group(&customer, &group, "seal").await;
    service.deliver_after(DISCOVERY_DELAY).await;
    let answer = service.get(&customer, &format!("/groups/{group}")).await;
    assert_eq!(answer.body["status"], "completed");
    assert_eq!(answer.body.get("callback"), None);
    let wrong = json!({"callback_url": "ftp://example.com"});
    let wrong = service.post_to_group(&customer, "/groups", &wrong).await;
    assert_eq!(wrong.status, 422);
    assert_eq!(
        wrong.body["detail"][0]["loc"],
        json!(["body", "callback_url"])
    );
}
