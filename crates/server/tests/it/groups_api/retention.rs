//! The texts of groups that have ended, under the retention of their project.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::retention::ProjectRetention;
use serde_json::{Value, json};
use test_support::scripted_receiver::{ScriptedReceiver, plain_reply};

use crate::support::encryption::file_master_keys;
use crate::support::marker::MARKER;
use crate::support::{Customer, TestService};

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

/// A sealed and completed group whose metadata and callback URL have the marker.
struct EndedGroup {
    service: TestService,
    customer: Customer,
    receiver: ScriptedReceiver,
    path: String,
}

impl EndedGroup {
    async fn new(mut service: TestService, chosen: ProjectRetention) -> Self {
        let customer = service.create_customer().await;
        service.choose_retention(&customer, chosen).await;
        let receiver = ScriptedReceiver::start([plain_reply(200, MARKER)]).await;
        let url = format!("{}/{MARKER}?token={MARKER}", receiver.url());
        let body = json!({"name": "run", "metadata": {"order": MARKER}, "callback_url": url});
        let created = service.post_to_group(&customer, "/groups", &body).await;
        assert_eq!(created.status, 201, "{created}");
        let group = created.body["group_id"].as_str().unwrap().to_owned();
        service
            .load_group_members(&customer, &group, &["One."])
            .await;
        service.complete_all_cargo().await;
        let path = format!("/groups/{group}");
        let seal = format!("{path}/seal");
        let sealed = service.post_to_group(&customer, &seal, &json!({})).await;
        assert_eq!(sealed.body["status"], "completed", "{sealed}");
        Self {
            service,
            customer,
            receiver,
            path,
        }
    }

    async fn deliver(&mut self) {
        self.service.clock.advance(Duration::from_secs(1));
        self.service.run_until_idle().await;
        let callback = self.receiver.received().pop().unwrap().body;
        assert!(String::from_utf8(callback).unwrap().contains(MARKER));
    }

    async fn sweep_after(&mut self, by: Duration) {
        self.service.sweep_after(by).await;
    }

    async fn metadata(&self) -> Value {
        self.read().await["metadata"].clone()
    }

    async fn read(&self) -> Value {
        let answer = self.service.get(&self.customer, &self.path).await;
        assert_eq!(answer.status, 200, "{answer}");
        answer.body
    }

    async fn assert_erased(&self) {
        let group = self.read().await;
        assert_eq!(group["metadata"], Value::Null, "{group}");
        assert_eq!(
            (&group["name"], &group["counts"]["succeeded"]),
            (&json!("run"), &json!(1))
        );
        let url = group["callback"]["url"].as_str().unwrap();
        let host = format!("://127.0.0.1:{}/", self.receiver.port());
        assert!(url.ends_with(&host), "{url}");
        assert_eq!(group["callback"]["last_status_code"], 200);
    }
}

#[tokio::test]
async fn under_zero_retention_an_ended_group_keeps_no_text_after_two_days() {
    let service = TestService::without_encryption();
    let mut group = EndedGroup::new(service.await, ProjectRetention::Zero).await;
    group.deliver().await;
    group.sweep_after(47 * HOUR).await;
    assert_eq!(group.metadata().await, json!({"order": MARKER}));
    group.sweep_after(HOUR + MINUTE).await;
    group.assert_erased().await;
    assert_eq!(group.service.find_text(MARKER).await, BTreeSet::new());
    // Its name still finds it.
    let (service, customer) = (&group.service, &group.customer);
    let again = service
        .post_to_group(customer, "/groups", &json!({"name": "run"}))
        .await;
    assert_eq!((again.status, &again.body["existing"]), (200, &json!(true)));
}

#[tokio::test]
async fn a_group_whose_callback_is_open_is_erased_later() {
    let service = TestService::with_master_keys(file_master_keys(&[1]), None).await;
    service.enable_encryption().await;
    service.clock.advance(Duration::from_secs(11));
    let mut group = EndedGroup::new(service, ProjectRetention::Days(2)).await;
    // Its worker is away for two days.
    group.sweep_after(48 * HOUR).await;
    assert_eq!(group.metadata().await, json!({"order": MARKER}));
    group.deliver().await;
    assert_eq!(group.metadata().await, json!({"order": MARKER}));
    group.sweep_after(10 * MINUTE).await;
    group.assert_erased().await;
}
