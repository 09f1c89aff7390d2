//! Keys: what changes in control acts here.

use store::control::audit::Author;
use store::control::{api_key, project};

use crate::support::Service;
use crate::support::http::chat;

#[tokio::test]
async fn a_deactivated_project_is_forbidden_once_the_feed_is_read() {
    let service = Service::new().await;
    let customer = service.customer().await;
    service.load(&customer, &chat("Before.", None)).await;
    project::deactivate(
        &service.control,
        customer.project,
        &Author::console(),
        service.now(),
    )
    .await
    .unwrap();
    service.app.refresh().await;
    let after = service.post_load(&customer, &chat("After.", None)).await;
    insta::assert_snapshot!(after, @r#"
    403 {
      "detail": "Project is inactive."
    }
    "#);
}

#[tokio::test]
async fn a_deactivated_key_answers_as_an_unknown_one() {
    let service = Service::new().await;
    let customer = service.customer().await;
    service.load(&customer, &chat("Before.", None)).await;
    api_key::deactivate(
        &service.control,
        customer.key_id,
        &Author::console(),
        service.now(),
    )
    .await
    .unwrap();
    service.app.refresh().await;
    let after = service.post_load(&customer, &chat("After.", None)).await;
    insta::assert_snapshot!(after, @r#"
    401 {
      "detail": "Invalid API key."
    }
    "#);
}

#[tokio::test]
async fn cargo_of_a_deactivated_project_is_finished_all_the_same() {
    let mut service = Service::new().await;
    let receiver = crate::support::receiver::Receiver::new().await;
    let customer = service.customer().await;
    service
        .load(&customer, &chat("Finish me.", Some(receiver.url())))
        .await;
    project::deactivate(
        &service.control,
        customer.project,
        &Author::console(),
        service.now(),
    )
    .await
    .unwrap();
    service.clock.advance(crate::support::MOCK_DELAY);
    service.work().await;
    assert_eq!(receiver.received().len(), 1);
}
