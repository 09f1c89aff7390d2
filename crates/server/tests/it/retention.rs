//! Retention of projects: fewer days, and zero retention. Status and times stay, bodies go.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::id::CargoId;
use domain::retention::ProjectRetention;
use serde_json::{Value, json};
use store::shard::resend::{self, ResendResult};
use store::shard::{ledger_audit, retention};
use test_support::callback_receiver::CallbackReceiver;
use test_support::scripted_receiver::{ScriptedReceiver, plain_reply};

use crate::support::http::chat_request;
use crate::support::marker::{MARKER, find_marker};
use crate::support::{Customer, MOCK_DELAY, TestService};

const HOUR: Duration = Duration::from_hours(1);
/// The delay before each retry of a callback.
const RETRY_DELAY_SECONDS: [u64; 5] = [30, 120, 600, 1800, 3600];

struct RetentionFixture {
    service: TestService,
    customer: Customer,
}

impl RetentionFixture {
    async fn new(chosen: ProjectRetention) -> Self {
        Self::of(TestService::new().await, chosen).await
    }

    async fn of(service: TestService, chosen: ProjectRetention) -> Self {
        let customer = service.create_customer().await;
        service.choose_retention(&customer, chosen).await;
        Self { service, customer }
    }

    async fn complete(&mut self) {
        self.service.clock.advance(MOCK_DELAY);
        self.service.run_until_idle().await;
    }

    /// Advances the clock, and sweeps.
    async fn sweep_after(&mut self, by: Duration) {
        self.service.sweep_after(by).await;
    }

    async fn track(&self, cargo: &str) -> Value {
        self.service.track(&self.customer, cargo).await
    }

    async fn is_erased(&self, cargo: &str) -> bool {
        let record = self.track(cargo).await;
        assert_eq!(record["erased_at"].is_null(), !record["response"].is_null());
        !record["erased_at"].is_null()
    }

    /// How many requests and outcomes have a body.
    async fn count_bodies(&self) -> i64 {
        let bodies = "select (select count(*) from shard.request where octet_length(body) > 0)
                          + (select count(*) from shard.outcome where octet_length(body) > 0)";
        let bodies = sqlx::query_scalar(bodies).fetch_one(&self.service.north.pool);
        bodies.await.unwrap()
    }
}

#[tokio::test]
async fn under_zero_retention_an_acknowledged_callback_leaves_no_text() {
    let service = TestService::without_encryption().await;
    let mut fixture = RetentionFixture::of(service, ProjectRetention::Zero).await;
    let receiver = ScriptedReceiver::start([plain_reply(200, MARKER)]).await;
    let url = format!("{}/{MARKER}?token={MARKER}", receiver.url());
    let mut body = chat_request(MARKER, Some(&url));
    body["metadata"] = json!({ "order": MARKER });
    let cargo = fixture.service.load(&fixture.customer, &body).await;
    assert_ne!(
        find_marker(&fixture.service.north.pool).await,
        BTreeSet::new()
    );
    fixture.complete().await;
    // The receiver got the answer.
    let callback = receiver.received().pop().unwrap().body;
    assert!(String::from_utf8(callback).unwrap().contains(MARKER));
    assert_eq!(
        find_marker(&fixture.service.north.pool).await,
        BTreeSet::new()
    );
    assert_eq!(fixture.count_bodies().await, 0);
    let record = fixture.track(&cargo).await;
    assert_eq!(record["status"], "callback_delivered");
    assert_eq!(
        (&record["success"], &record["response"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(record["metadata"], Value::Null);
    assert_eq!(record["erased_at"], record["callback"]["delivered_at"]);
    let host = format!("http://127.0.0.1:{}/", receiver.port());
    assert_eq!(record["callback"]["url"], host);
    assert!(record["usage"]["output_tokens"].as_u64() > Some(0));
    let report = ledger_audit::check_all(&fixture.service.north)
        .await
        .unwrap();
    assert_eq!(report.faults, []);
}

#[tokio::test]
async fn an_erased_callback_is_not_sent_again() {
    let mut fixture = RetentionFixture::new(ProjectRetention::Zero).await;
    let receiver = CallbackReceiver::new().await;
    let body = chat_request("Once.", Some(receiver.url()));
    let (service, customer) = (&fixture.service, &fixture.customer);
    let loaded = service.post_load_with_key(customer, "order-7", &body).await;
    let cargo = loaded.cargo_id();
    fixture.complete().await;
    let (service, project) = (&fixture.service, fixture.customer.project);
    let id: CargoId = cargo.parse().unwrap();
    let resent = resend::queue_one(&service.north, project, id, service.now()).await;
    assert_eq!(resent.unwrap(), ResendResult::Erased);
    // The idempotency key still answers with the same cargo.
    let customer = &fixture.customer;
    let again = service.post_load_with_key(customer, "order-7", &body).await;
    assert_eq!(again.cargo_id(), cargo);
    assert_eq!(receiver.callbacks().len(), 1);
}

#[tokio::test]
async fn without_a_callback_an_answer_can_be_polled_for_a_day() {
    let mut fixture = RetentionFixture::new(ProjectRetention::Zero).await;
    let body = chat_request("Poll me.", None);
    let cargo = fixture.service.load(&fixture.customer, &body).await;
    fixture.complete().await;
    fixture.sweep_after(HOUR).await;
    // A GET never erases.
    for _ in 0..2 {
        assert!(!fixture.is_erased(&cargo).await);
    }
    // A day after the load, but not yet after the completion.
    fixture
        .sweep_after(22 * HOUR + Duration::from_secs(59 * 60 + 30))
        .await;
    assert!(!fixture.is_erased(&cargo).await);
    fixture.sweep_after(Duration::from_secs(30)).await;
    assert!(fixture.is_erased(&cargo).await);
    assert_eq!(fixture.track(&cargo).await["status"], "COMPLETED");
    assert_eq!(fixture.count_bodies().await, 0);
}

#[tokio::test]
async fn after_a_failed_callback_the_answer_stays_for_a_day() {
    let mut fixture = RetentionFixture::new(ProjectRetention::Zero).await;
    let receiver = CallbackReceiver::new().await;
    receiver.queue_statuses([500; 6]);
    let body = chat_request("Keep me.", Some(receiver.url()));
    let cargo = fixture.service.load(&fixture.customer, &body).await;
    fixture.complete().await;
    for delay in RETRY_DELAY_SECONDS {
        fixture.service.clock.advance(Duration::from_secs(delay));
        fixture.service.run_until_idle().await;
    }
    assert_eq!(fixture.track(&cargo).await["status"], "callback_failed");
    fixture.sweep_after(23 * HOUR).await;
    assert!(!fixture.is_erased(&cargo).await);
    fixture.sweep_after(HOUR).await;
    assert!(fixture.is_erased(&cargo).await);
    assert_eq!(fixture.track(&cargo).await["status"], "callback_failed");
}

#[tokio::test]
async fn a_project_with_fewer_days_is_erased_before_others() {
    let mut fixture = RetentionFixture::new(ProjectRetention::Days(2)).await;
    let sibling = fixture
        .service
        .create_sibling_project(&fixture.customer)
        .await;
    let receiver = CallbackReceiver::new().await;
    let body = chat_request("Two days.", Some(receiver.url()));
    let cargo = fixture.service.load(&fixture.customer, &body).await;
    let failing = chat_request("[mock:fail=line 7 broke]", None);
    fixture.service.load(&fixture.customer, &failing).await;
    let other = fixture.service.load(&sibling, &body).await;
    fixture.complete().await;
    fixture.sweep_after(47 * HOUR).await;
    assert!(!fixture.is_erased(&cargo).await);
    fixture.sweep_after(HOUR).await;
    assert!(fixture.is_erased(&cargo).await);
    assert_eq!(fixture.track(&cargo).await["status"], "callback_delivered");
    let labels = "select label from shard.trouble";
    let labels: Vec<String> = sqlx::query_scalar(labels)
        .fetch_all(&fixture.service.north.pool)
        .await
        .unwrap();
    assert_eq!(labels, ["erased"]);
    let kept = fixture.service.track(&sibling, &other).await;
    assert_eq!(kept["response"]["content"][0]["text"], "Two days.");
    // Each cargo was examined once.
    let queued = "select count(*) from shard.erasure";
    let queued = sqlx::query_scalar::<_, i64>(queued).fetch_one(&fixture.service.north.pool);
    assert_eq!(queued.await.unwrap(), 0);
}

#[tokio::test]
async fn cargo_that_is_open_when_sweep_passes_is_erased_later() {
    let mut fixture = RetentionFixture::new(ProjectRetention::Days(1)).await;
    let receiver = CallbackReceiver::new().await;
    receiver.queue_statuses([500]);
    let body = chat_request("Late.", Some(receiver.url()));
    let cargo = fixture.service.load(&fixture.customer, &body).await;
    fixture.complete().await;
    // Its first attempt failed, and its worker is away for a day.
    fixture.sweep_after(24 * HOUR).await;
    assert!(!fixture.is_erased(&cargo).await);
    fixture.service.run_until_idle().await;
    assert_eq!(fixture.track(&cargo).await["status"], "callback_delivered");
    fixture.sweep_after(HOUR).await;
    assert!(fixture.is_erased(&cargo).await);
}

#[tokio::test]
async fn a_project_that_chooses_the_default_again_is_not_erased() {
    let mut fixture = RetentionFixture::new(ProjectRetention::Zero).await;
    let body = chat_request("Stay.", None);
    let cargo = fixture.service.load(&fixture.customer, &body).await;
    fixture.complete().await;
    // Sweep has queued it.
    fixture
        .sweep_after(23 * HOUR + Duration::from_secs(59 * 60 + 30))
        .await;
    let (shard, project) = (&fixture.service.north, fixture.customer.project);
    let now = fixture.service.now();
    let set = retention::set(shard, project, ProjectRetention::Installation, now).await;
    set.unwrap();
    fixture.sweep_after(24 * HOUR).await;
    assert!(!fixture.is_erased(&cargo).await);
}
