//! `GET /cargo/{cargo_id}/attempts` and `POST /cargo/{cargo_id}/resend`.

use std::time::Duration;

use domain::key_scope::{KeyRight, KeyScope};
use serde_json::{Value, json};
use test_support::callback_receiver::CallbackReceiver;

use crate::support::http::{AppResponse, chat_request};
use crate::support::{Customer, MOCK_DELAY, TestService};

const SECOND: Duration = Duration::from_secs(1);

struct CallbackFixture {
    service: TestService,
    receiver: CallbackReceiver,
    customer: Customer,
}

impl CallbackFixture {
    async fn new() -> Self {
        let service = TestService::new().await;
        let customer = service.create_customer().await;
        Self {
            service,
            receiver: CallbackReceiver::new().await,
            customer,
        }
    }

    async fn load(&self) -> String {
        let body = chat_request("Hello.", Some(self.receiver.url()));
        self.service.load(&self.customer, &body).await
    }

    async fn complete(&mut self) {
        self.service.clock.advance(MOCK_DELAY);
        self.service.run_until_idle().await;
    }

    async fn advance(&mut self, by: Duration) {
        self.service.clock.advance(by);
        self.service.run_until_idle().await;
    }

    async fn resend(&self, cargo: &str) -> AppResponse {
        self.resend_as(&self.customer, cargo).await
    }

    async fn resend_as(&self, customer: &Customer, cargo: &str) -> AppResponse {
        let path = format!("/cargo/{cargo}/resend");
        let body = Value::Null;
        self.service.send_json(customer, "POST", &path, &body).await
    }

    async fn attempts(&self, cargo: &str) -> Value {
        let path = format!("/cargo/{cargo}/attempts");
        let answer = self.service.get(&self.customer, &path).await;
        assert_eq!(answer.status, 200, "{answer}");
        answer.body
    }

    /// Number, status code and whether it was a resend, of each attempt.
    async fn summary(&self, cargo: &str) -> Vec<Value> {
        let log = self.attempts(cargo).await;
        let attempts = log["attempts"].as_array().unwrap().iter();
        attempts
            .map(|it| json!([it["number"], it["status_code"], it["resend"]]))
            .collect()
    }
}

#[tokio::test]
async fn every_attempt_is_in_the_log_with_the_time_of_the_next() {
    let mut fixture = CallbackFixture::new().await;
    let cargo = fixture.load().await;
    let empty = json!({"attempts": [], "next_attempt_at": null});
    assert_eq!(fixture.attempts(&cargo).await, empty);
    fixture.receiver.queue_statuses([500, 503]);
    fixture.complete().await;
    let log = fixture.attempts(&cargo).await;
    let record = fixture.service.track(&fixture.customer, &cargo).await;
    assert_eq!(
        log["next_attempt_at"],
        record["callback"]["next_attempt_at"]
    );
    let first = &log["attempts"][0];
    assert_eq!(first["number"], 1);
    assert_eq!(first["status_code"], 500);
    assert_eq!(first["error"], record["callback"]["last_error"]);
    assert_eq!(first["started_at"], record["callback"]["last_attempt_at"]);
    assert_eq!(first["resend"], false);
    assert_eq!(first["answer"], Value::Null);
    assert!(first["latency_ms"].is_u64() && first["ended_at"].is_string());
    fixture.advance(Duration::from_secs(30)).await;
    fixture.advance(Duration::from_mins(2)).await;
    let expected = [json!([1, 500, false]), json!([2, 503, false])];
    let summary = fixture.summary(&cargo).await;
    assert_eq!(summary[..2], expected);
    assert_eq!(summary[2], json!([3, 200, false]));
    let log = fixture.attempts(&cargo).await;
    assert_eq!(log["next_attempt_at"], Value::Null);
    assert_eq!(log["attempts"][2]["error"], Value::Null);
}

#[tokio::test]
async fn a_delivered_callback_is_sent_again_with_the_same_bytes() {
    let mut fixture = CallbackFixture::new().await;
    let cargo = fixture.load().await;
    fixture.complete().await;
    let accepted = fixture.resend(&cargo).await;
    assert_eq!(accepted.status, 202, "{accepted}");
    let queued = json!({"cargo_id": cargo, "resend": "queued"});
    assert_eq!(accepted.body, queued);
    fixture.advance(SECOND).await;
    let received = fixture.receiver.callbacks();
    assert_eq!(received.len(), 2);
    assert_eq!(received[0], received[1]);
    let expected = [json!([1, 200, false]), json!([2, 200, true])];
    assert_eq!(fixture.summary(&cargo).await, expected);
}

#[tokio::test]
async fn a_callback_that_is_still_tried_is_sent_now() {
    let mut fixture = CallbackFixture::new().await;
    let cargo = fixture.load().await;
    fixture.receiver.queue_statuses([500]);
    fixture.complete().await;
    let accepted = fixture.resend(&cargo).await;
    let already_due = json!({"cargo_id": cargo, "resend": "already_due"});
    assert_eq!(accepted.body, already_due);
    fixture.advance(SECOND).await;
    let expected = [json!([1, 500, false]), json!([2, 200, false])];
    assert_eq!(fixture.summary(&cargo).await, expected);
}

#[tokio::test]
async fn without_a_callback_there_is_nothing_to_send() {
    let mut fixture = CallbackFixture::new().await;
    let open = fixture.load().await;
    let silent = chat_request("Hello.", None);
    let silent = fixture.service.load(&fixture.customer, &silent).await;
    let refused = fixture.resend(&open).await;
    assert_eq!(refused.status, 409);
    assert_eq!(refused.body["detail"]["error"], "nothing_to_send");
    assert_eq!(refused.headers["x-should-retry"], "false");
    fixture.complete().await;
    assert_eq!(fixture.resend(&silent).await.status, 409);
}

#[tokio::test]
async fn a_callback_is_resent_at_most_once_per_second() {
    let mut fixture = CallbackFixture::new().await;
    let (one, other) = (fixture.load().await, fixture.load().await);
    fixture.complete().await;
    assert_eq!(fixture.resend(&one).await.status, 202);
    let refused = fixture.resend(&one).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(refused.body["detail"]["error"], "rate_limit_exceeded");
    assert_eq!(refused.body["detail"]["retry_after_seconds"], 1);
    assert!(refused.headers.get("x-should-retry").is_none());
    // The limit is that of one cargo.
    assert_eq!(fixture.resend(&other).await.status, 202);
    fixture.advance(SECOND).await;
    assert_eq!(fixture.resend(&one).await.status, 202);
}

#[tokio::test]
async fn only_the_project_of_a_cargo_resends_it_with_the_right_to_load() {
    let mut fixture = CallbackFixture::new().await;
    let cargo = fixture.load().await;
    fixture.complete().await;
    let sibling = fixture
        .service
        .create_sibling_project(&fixture.customer)
        .await;
    assert_eq!(fixture.resend_as(&sibling, &cargo).await.status, 404);
    assert_eq!(fixture.resend("crg_nonsense").await.status, 404);
    let scope = KeyScope {
        rights: Some(vec![KeyRight::Read]),
        ..KeyScope::default()
    };
    let reader = fixture.service.create_key(&fixture.customer, scope).await;
    let refused = fixture.resend_as(&reader, &cargo).await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.body["detail"]["right"], "load");
    assert_eq!(fixture.receiver.callbacks().len(), 1);
}
