//! API keys: changes in control take effect in the API.

use store::control::audit_log::Actor;
use store::control::{api_key, project};

use crate::support::TestService;
use crate::support::http::chat_request;

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
    let receiver = crate::support::callback_receiver::CallbackReceiver::new().await;
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
