//! API keys: changes in control take effect in the API.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use domain::authentication_flag::AuthenticationFlag;
use store::control::audit_log::Actor;
use store::control::{api_key, project};
use test_support::callback_receiver::CallbackReceiver;

use crate::support::TestService;
use crate::support::http::{chat_request, send};

#[tokio::test]
async fn a_deactivated_project_is_forbidden_once_the_feed_is_read() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    service
        .load(&customer, &chat_request("Before.", None))
        .await;
    project::deactivate(
        &service.control,
        customer.project,
        &Actor::console(),
        service.now(),
    )
    .await
    .unwrap();
    service.app.refresh_keys().await;
    let after = service
        .post_load(&customer, &chat_request("After.", None))
        .await;
    insta::assert_snapshot!(after, @r#"
    403 {
      "detail": "Project is inactive."
    }
    "#);
}

#[tokio::test]
async fn the_first_request_of_a_process_finds_its_shard() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("Hi.", None)).await;
    let router = api::router(service.create_another_app());
    let request = Request::get(format!("/cargo/{cargo}/tracking"));
    let request = request.header("X-API-Key", &customer.key);
    let answer = send(router, request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[tokio::test]
async fn a_deactivated_key_answers_as_an_unknown_one() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    service
        .load(&customer, &chat_request("Before.", None))
        .await;
    api_key::deactivate(
        &service.control,
        customer.key_id,
        &Actor::console(),
        service.now(),
    )
    .await
    .unwrap();
    service.app.refresh_keys().await;
    let after = service
        .post_load(&customer, &chat_request("After.", None))
        .await;
    insta::assert_snapshot!(after, @r#"
    401 {
      "detail": "Invalid API key."
    }
    "#);
}

#[tokio::test]
async fn cargo_of_a_deactivated_project_is_still_completed() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    service
        .load(&customer, &chat_request("Finish me.", Some(receiver.url())))
        .await;
    project::deactivate(
        &service.control,
        customer.project,
        &Actor::console(),
        service.now(),
    )
    .await
    .unwrap();
    service.clock.advance(crate::support::MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(receiver.callbacks().len(), 1);
}

#[tokio::test]
async fn only_a_valid_key_marks_its_connection_as_authenticated() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    for (key, path, expected) in [
        (customer.key.as_str(), "/files", true),
        (customer.key.as_str(), "/health", false),
        ("svc_sk_unknown", "/files", false),
    ] {
        let flag = AuthenticationFlag::default();
        let request = Request::get(path).header("X-API-Key", key);
        let request = request.extension(flag.clone()).body(Body::empty());
        service.send(request.unwrap()).await;
        assert_eq!(flag.is_set(), expected, "{key} {path}");
    }
}

#[tokio::test]
async fn a_request_records_when_its_key_was_used() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let last_used_at = async || {
        let key = api_key::find(&service.control, customer.key_id).await;
        key.unwrap().unwrap().last_used_at
    };
    assert_eq!(last_used_at().await, None);
    for path in ["/files", "/cargo/nonsense/tracking"] {
        let used_at = service.clock.advance(Duration::from_hours(1));
        service.get(&customer, path).await;
        let began = Instant::now();
        // The background task may be writing the use just now.
        while last_used_at().await != Some(used_at) {
            service.app.flush().await;
            assert!(began.elapsed() < Duration::from_mins(1), "{path}");
        }
    }
}
