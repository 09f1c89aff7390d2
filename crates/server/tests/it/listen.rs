//! The listen tunnel: callbacks to a program that holds a stream open.

use domain::callback_settings::CallbackSettingsChange;
use domain::callback_signature::{CallbackSigner, SigningSecret};
use domain::key_scope::{KeyRight, KeyScope};
use domain::time::Timestamp;
use serde_json::{Value, json};
use store::control::api_key;
use store::control::audit_log::Actor;
use store::shard::callback_settings;

use crate::support::http::chat_request;
use crate::support::listener::TestListener;
use crate::support::signing::signing_roots;
use crate::support::test_limits::TestLimits;
use crate::support::{Customer, MOCK_DELAY, TestService};

const RETRY_DELAY: std::time::Duration = std::time::Duration::from_secs(30);

/// Loads a cargo with this callback URL and lets the provider answer it.
async fn load_and_answer(service: &TestService, customer: &Customer, url: &str) -> String {
    let cargo = service
        .load(customer, &chat_request("Hi.", Some(url)))
        .await;
    service.clock.advance(MOCK_DELAY);
    cargo
}

async fn attempts(service: &TestService, customer: &Customer, cargo: &str) -> Vec<Value> {
    let path = format!("/cargo/{cargo}/attempts");
    let log = service.get(customer, &path).await;
    assert_eq!(log.status, 200, "{log}");
    log.body["attempts"].as_array().unwrap().clone()
}

/// Lets the workers deliver while the listener answers one callback with this status.
async fn deliver(service: &mut TestService, listener: &mut TestListener, status: u16) -> Value {
    let answering = async {
        let (event, callback) = listener.next_event().await.unwrap();
        assert_eq!(event, "callback");
        let answer = json!({
            "delivery_id": callback["delivery_id"], "status": status, "headers": {},
            "body": "seen", "latency_ms": 12,
        });
        let stored = listener.answer(&answer).await;
        assert_eq!(stored.status, 204, "{stored}");
        callback
    };
    let (callback, ()) = tokio::join!(answering, service.run_until_idle());
    callback
}

#[tokio::test]
async fn a_callback_goes_to_its_listener_and_its_answer_is_recorded() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut listener = TestListener::connect(&service, &customer, "anna").await;
    let cargo = load_and_answer(&service, &customer, "listen://anna").await;
    let callback = deliver(&mut service, &mut listener, 200).await;
    assert_eq!(callback["number"], 1);
    let body: Value = serde_json::from_str(callback["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["cargo_id"], json!(cargo));
    assert_eq!(body["success"], true);
    let headers = &callback["headers"];
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["webhook-id"], json!(cargo));
    let attempt = &attempts(&service, &customer, &cargo).await[0];
    assert_eq!(attempt["status_code"], 200);
    assert_eq!(attempt["answer"], "seen");
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );
    // Its attempt has ended.
    let answer = json!({"delivery_id": callback["delivery_id"], "status": 200});
    assert_eq!(listener.answer(&answer).await.status, 404);
}

#[tokio::test]
async fn a_failed_answer_is_retried_by_the_schedule() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut listener = TestListener::connect(&service, &customer, "anna").await;
    let cargo = load_and_answer(&service, &customer, "listen://anna").await;
    deliver(&mut service, &mut listener, 500).await;
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");
    service.clock.advance(RETRY_DELAY);
    let second = deliver(&mut service, &mut listener, 204).await;
    assert_eq!(second["number"], 2);
    let statuses = attempts(&service, &customer, &cargo).await;
    let statuses: Vec<_> = statuses
        .iter()
        .map(|it| it["status_code"].clone())
        .collect();
    assert_eq!(statuses, [500, 204]);
}

#[tokio::test]
async fn without_a_listener_the_attempt_fails_at_once() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    // Listeners of other projects and with other names do not get it.
    let stranger = service.create_sibling_project(&customer).await;
    let _foreign = TestListener::connect(&service, &stranger, "anna").await;
    let _other = TestListener::connect(&service, &customer, "ben").await;
    let cargo = load_and_answer(&service, &customer, "listen://anna").await;
    service.run_until_idle().await;
    let attempt = &attempts(&service, &customer, &cargo).await[0];
    let error = attempt["error"].as_str().unwrap();
    assert!(error.starts_with("no program listens as anna"), "{error}");
    assert_eq!(attempt["status_code"], Value::Null);
    // A listener that comes later gets the retry.
    let mut listener = TestListener::connect(&service, &customer, "anna").await;
    service.clock.advance(RETRY_DELAY);
    assert_eq!(deliver(&mut service, &mut listener, 200).await["number"], 2);
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_is_recorded_with_its_error() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut listener = TestListener::connect(&service, &customer, "anna").await;
    let cargo = load_and_answer(&service, &customer, "listen://anna").await;
    let answering = async {
        let (_, callback) = listener.next_event().await.unwrap();
        let id = &callback["delivery_id"];
        let answer = json!({"delivery_id": id, "error": "connection refused"});
        assert_eq!(listener.answer(&answer).await.status, 204);
    };
    tokio::join!(answering, service.run_until_idle());
    let attempt = &attempts(&service, &customer, &cargo).await[0];
    assert_eq!(attempt["error"], "connection refused");
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");
}

/// The signature of a callback, and what the signer makes of its parts.
fn signatures(callback: &Value, signer: &CallbackSigner) -> [String; 2] {
    let header = |name: &str| callback["headers"][name].as_str().unwrap().to_owned();
    let seconds = header("webhook-timestamp").parse().unwrap();
    let moment = Timestamp::from_timestamp(seconds, 0).unwrap();
    let body = callback["body"].as_str().unwrap();
    let cargo = header("webhook-id").parse().unwrap();
    let expected = signer.sign(cargo, moment, body.as_bytes());
    let [_, _, (_, expected)] = expected.pairs();
    [header("webhook-signature"), expected.to_owned()]
}

#[tokio::test]
async fn callbacks_are_signed_by_the_listeners_secret_or_by_the_projects() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut listener = TestListener::connect(&service, &customer, "anna").await;
    let name = "anna".parse().unwrap();
    let secret = SigningSecret::of_listener(customer.key.as_bytes(), customer.project, &name);
    assert_eq!(listener.secret, secret.reveal());
    load_and_answer(&service, &customer, "listen://anna").await;
    let callback = deliver(&mut service, &mut listener, 200).await;
    let [found, expected] = signatures(&callback, &CallbackSigner::with_secret(secret));
    assert_eq!(found, expected);
    let (shard, project) = (&service.north, customer.project);
    let change = CallbackSettingsChange::EnableSigning;
    let settings = callback_settings::change(shard, project, change, service.now()).await;
    let settings = settings.unwrap().unwrap();
    load_and_answer(&service, &customer, "listen://anna").await;
    let callback = deliver(&mut service, &mut listener, 200).await;
    let signer = CallbackSigner::new(&signing_roots(), project, &settings).unwrap();
    let [found, expected] = signatures(&callback, &signer);
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_newer_listener_replaces_an_older_one_at_any_process() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let other = api::router(service.start_another_app().await);
    let mut first = TestListener::connect_to(other, &customer, "anna").await;
    let mut second = TestListener::connect(&service, &customer, "anna").await;
    let mut third = TestListener::connect(&service, &customer, "anna").await;
    for replaced in [&mut first, &mut second] {
        assert_eq!(replaced.next_event().await.unwrap().0, "replaced");
        assert_eq!(replaced.next_event().await, None);
    }
    load_and_answer(&service, &customer, "listen://anna").await;
    deliver(&mut service, &mut third, 200).await;
    // The secret follows from the key and the name.
    assert_eq!(first.secret, third.secret);
}

#[tokio::test]
async fn a_project_has_ten_listeners() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut listeners = Vec::new();
    for number in 0..10 {
        let name = format!("anna-{number}");
        listeners.push(TestListener::connect(&service, &customer, &name).await);
    }
    let refused = service.get(&customer, "/listen?name=ben").await;
    assert_eq!(refused.status, 409, "{refused}");
    assert_eq!(refused.body["detail"]["error"], "too_many_listeners");
    // One of the ten may be replaced, and other projects have their own.
    TestListener::connect(&service, &customer, "anna-7").await;
    let stranger = service.create_sibling_project(&customer).await;
    TestListener::connect(&service, &stranger, "ben").await;
}

#[tokio::test]
async fn the_stream_ends_when_the_process_stops() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut listener = TestListener::connect(&service, &customer, "anna").await;
    service.app.drain();
    assert_eq!(listener.next_event().await, None);
}

#[tokio::test]
async fn the_stream_ends_when_its_key_is_deactivated() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let other = service.create_key(&customer, KeyScope::default()).await;
    let mut listener = TestListener::connect(&service, &customer, "anna").await;
    let mut others = TestListener::connect(&service, &other, "ben").await;
    let (control, actor) = (&service.control, Actor::console());
    let deactivated = api_key::deactivate(control, other.key_id, &actor, service.now()).await;
    deactivated.unwrap();
    service.app.refresh_keys().await;
    assert_eq!(others.next_event().await, None);
    // Streams of other keys go on.
    TestListener::connect(&service, &customer, "anna").await;
    assert_eq!(listener.next_event().await.unwrap().0, "replaced");
}

#[tokio::test]
async fn streams_leave_connections_free() {
    let limits = TestLimits {
        max_connections: 4,
        ..TestLimits::default()
    };
    let service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let mut listeners = Vec::new();
    for name in ["a", "b", "c"] {
        listeners.push(TestListener::connect(&service, &customer, name).await);
    }
    let refused = service.get(&customer, "/listen?name=d").await;
    assert_eq!(refused.status, 503, "{refused}");
    listeners.pop();
    TestListener::connect(&service, &customer, "d").await;
}

#[tokio::test]
async fn a_listener_needs_the_rights_to_read_and_to_load() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    for (has, lacks) in [(KeyRight::Read, "load"), (KeyRight::Load, "read")] {
        let scope = KeyScope {
            rights: Some(vec![has]),
            ..KeyScope::default()
        };
        let scoped = service.create_key(&customer, scope).await;
        let refused = service.get(&scoped, "/listen?name=anna").await;
        assert_eq!(refused.status, 403, "{refused}");
        assert_eq!(refused.body["detail"]["right"], lacks);
    }
}

#[tokio::test]
async fn wrong_names_and_answers_are_refused() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    for path in ["/listen", "/listen?name=", "/listen?name=Anna"] {
        let refused = service.get(&customer, path).await;
        assert_eq!(refused.status, 422, "{path}: {refused}");
    }
    let body = chat_request("Hi.", Some("listen://Anna"));
    assert_eq!(service.post_load(&customer, &body).await.status, 422);
    let listener = TestListener::connect(&service, &customer, "anna").await;
    let unknown = json!({"delivery_id": format!("dlv_{}", "0".repeat(32)), "status": 200});
    assert_eq!(listener.answer(&unknown).await.status, 404);
    let nonsense = json!({"delivery_id": "x", "status": 200});
    assert_eq!(listener.answer(&nonsense).await.status, 404);
    assert_eq!(listener.answer(&json!({"status": 200})).await.status, 422);
}

#[tokio::test]
async fn the_operator_can_switch_the_tunnel_off() {
    let limits = TestLimits {
        allows_listeners: false,
        ..TestLimits::default()
    };
    let service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let refused = service.get(&customer, "/listen?name=anna").await;
    assert_eq!(refused.status, 404, "{refused}");
    let body = chat_request("Hi.", Some("listen://anna"));
    assert_eq!(service.post_load(&customer, &body).await.status, 422);
}
