//! Signed callbacks: off by default, rotation, resends, and metadata by option.

use std::time::Duration;

use domain::callback_settings::{CallbackSettings, CallbackSettingsChange, RotationOverlap};
use domain::callback_signature::CallbackSigner;
use domain::id::CargoId;
use domain::time::Timestamp;
use serde_json::json;
use store::shard::callback_settings;
use store::shard::resend::{self, ResendResult};
use test_support::callback_receiver::CallbackReceiver;
use test_support::scripted_receiver::ReceivedRequest;

use crate::support::http::chat_request;
use crate::support::signing::signing_roots;
use crate::support::{Customer, MOCK_DELAY, TestService};

/// After this time, workers use changed settings.
const SETTINGS_AGE: Duration = Duration::from_secs(5);
const SIGNATURE_HEADERS: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];

struct SigningFixture {
    service: TestService,
    receiver: CallbackReceiver,
    customer: Customer,
}

impl SigningFixture {
    async fn new() -> Self {
        let service = TestService::new().await;
        let customer = service.create_customer().await;
        Self {
            receiver: CallbackReceiver::new().await,
            service,
            customer,
        }
    }

    async fn change(&self, change: CallbackSettingsChange) -> CallbackSettings {
        let (shard, project) = (&self.service.north, self.customer.project);
        let changed = callback_settings::change(shard, project, change, self.service.now()).await;
        self.service.clock.advance(SETTINGS_AGE);
        changed.unwrap().unwrap()
    }

    /// Loads a cargo with metadata and completes it; returns the callback.
    async fn deliver_one(&mut self) -> (CargoId, ReceivedRequest) {
        let mut body = chat_request("Sign this.", Some(self.receiver.url()));
        body["metadata"] = json!({"order": 7});
        let cargo = self.service.load(&self.customer, &body).await;
        self.service.clock.advance(MOCK_DELAY);
        self.service.run_until_idle().await;
        (cargo.parse().unwrap(), self.last_request())
    }

    fn last_request(&self) -> ReceivedRequest {
        self.receiver.requests().pop().unwrap()
    }

    /// What the headers must be for an attempt at `now`.
    fn expected_headers(
        &self,
        settings: &CallbackSettings,
        cargo: CargoId,
        now: Timestamp,
        body: &[u8],
    ) -> [String; 3] {
        let signer = CallbackSigner::new(&signing_roots(), self.customer.project, settings);
        let headers = signer.unwrap().sign(cargo, now, body);
        headers.pairs().map(|(_, value)| value.to_owned())
    }
}

fn signature_headers(request: &ReceivedRequest) -> [Option<&str>; 3] {
    SIGNATURE_HEADERS.map(|name| request.header(name))
}

fn count_signatures(request: &ReceivedRequest) -> usize {
    let signature = request.header("webhook-signature").unwrap();
    let tokens: Vec<&str> = signature.split(' ').collect();
    assert!(tokens.iter().all(|token| token.starts_with("v1,")));
    tokens.len()
}

#[tokio::test]
async fn callbacks_are_unsigned_and_without_metadata_by_default() {
    let mut fixture = SigningFixture::new().await;
    let (_, request) = fixture.deliver_one().await;
    assert_eq!(signature_headers(&request), [None; 3]);
    let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
    let fields: Vec<&String> = body.as_object().unwrap().keys().collect();
    let contract = ["cargo_id", "success", "response", "error"];
    assert_eq!(fields, contract);
}

#[tokio::test]
async fn a_signed_callback_has_a_valid_signature() {
    let mut fixture = SigningFixture::new().await;
    let settings = fixture.change(CallbackSettingsChange::EnableSigning).await;
    let (cargo, request) = fixture.deliver_one().await;
    let now = fixture.service.now();
    let expected = fixture.expected_headers(&settings, cargo, now, &request.body);
    let expected = expected.each_ref().map(|value| Some(value.as_str()));
    assert_eq!(signature_headers(&request), expected);
    assert_eq!(expected[0], Some(cargo.to_string().as_str()));
    fixture.change(CallbackSettingsChange::DisableSigning).await;
    let (_, request) = fixture.deliver_one().await;
    assert_eq!(signature_headers(&request), [None; 3]);
}

#[tokio::test]
async fn a_retry_and_a_resend_have_the_same_id_and_a_new_signature() {
    let mut fixture = SigningFixture::new().await;
    let settings = fixture.change(CallbackSettingsChange::EnableSigning).await;
    fixture.receiver.queue_statuses([500]);
    let (cargo, first) = fixture.deliver_one().await;
    let mut times = vec![fixture.service.now()];
    times.push(fixture.service.clock.advance(Duration::from_secs(30)));
    fixture.service.run_until_idle().await;
    let (shard, project) = (&fixture.service.north, fixture.customer.project);
    let resent = resend::queue_one(shard, project, cargo, fixture.service.now()).await;
    assert_eq!(resent.unwrap(), ResendResult::Queued);
    times.push(fixture.service.clock.advance(Duration::from_secs(1)));
    fixture.service.run_until_idle().await;
    let requests = fixture.receiver.requests();
    assert_eq!(requests.len(), 3);
    for (request, now) in requests.iter().zip(times) {
        assert_eq!(request.body, first.body);
        let expected = fixture.expected_headers(&settings, cargo, now, &request.body);
        let expected = expected.each_ref().map(|value| Some(value.as_str()));
        assert_eq!(signature_headers(request), expected);
    }
}

#[tokio::test]
async fn both_secrets_sign_until_the_overlap_ends() {
    let mut fixture = SigningFixture::new().await;
    fixture.change(CallbackSettingsChange::EnableSigning).await;
    let rotation = CallbackSettingsChange::Rotate {
        overlap: RotationOverlap::OneHour,
        replaces_previous: false,
    };
    fixture.change(rotation).await;
    let (_, request) = fixture.deliver_one().await;
    assert_eq!(count_signatures(&request), 2);
    fixture.service.clock.advance(Duration::from_hours(1));
    let (_, request) = fixture.deliver_one().await;
    assert_eq!(count_signatures(&request), 1);
    fixture.change(rotation).await;
    fixture.change(CallbackSettingsChange::EndPrevious).await;
    let (_, request) = fixture.deliver_one().await;
    assert_eq!(count_signatures(&request), 1);
}

#[tokio::test]
async fn metadata_is_in_the_callback_of_a_project_with_the_option() {
    let mut fixture = SigningFixture::new().await;
    let include = CallbackSettingsChange::IncludeMetadata(true);
    fixture.change(include).await;
    fixture.receiver.queue_statuses([500]);
    let (_, first) = fixture.deliver_one().await;
    let body: serde_json::Value = serde_json::from_slice(&first.body).unwrap();
    assert_eq!(body["metadata"], json!({"order": 7}));
    assert_eq!(signature_headers(&first), [None; 3]);
    fixture.service.clock.advance(Duration::from_secs(30));
    fixture.service.run_until_idle().await;
    assert_eq!(fixture.last_request().body, first.body);

    // A load without metadata has no such field.
    let plain = chat_request("Sign this.", Some(fixture.receiver.url()));
    fixture.service.load(&fixture.customer, &plain).await;
    fixture.service.clock.advance(MOCK_DELAY);
    fixture.service.run_until_idle().await;
    let callbacks = fixture.receiver.callbacks();
    assert_eq!(callbacks[2].get("metadata"), None);
}

#[tokio::test]
async fn a_worker_without_the_root_sends_nothing_unsigned() {
    let mut fixture = SigningFixture::new().await;
    let service = &mut fixture.service;
    let workers = service.join_worker_set_with(|deps| deps.options.signing_roots = None);
    service.worker_sets = vec![workers.await];
    fixture.change(CallbackSettingsChange::EnableSigning).await;
    let body = chat_request("Sign this.", Some(fixture.receiver.url()));
    let cargo = fixture.service.load(&fixture.customer, &body).await;
    fixture.service.clock.advance(MOCK_DELAY);
    fixture.service.run_until_idle().await;
    assert_eq!(fixture.receiver.requests().len(), 0);
    let record = fixture.service.track(&fixture.customer, &cargo).await;
    assert_eq!(record["callback"]["attempts"], 1);
    insta::assert_snapshot!(record["callback"]["last_error"], @r#""not sent: signing is on, but the worker has no signing root""#);
}
