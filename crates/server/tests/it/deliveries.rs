//! Deliver: shares, failures and what a receiver sees.

use serde_json::json;

use crate::support::http::chat;
use crate::support::receiver::Receiver;
use crate::support::{MOCK_DELAY, Service};

#[tokio::test]
async fn a_failed_cargo_is_called_back_like_any_other() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let customer = service.customer().await;
    let mut body = chat("No.", Some(receiver.url()));
    body["params"]["model"] = json!("failing");
    let cargo = service.load(&customer, &body).await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );
    insta::assert_json_snapshot!(receiver.received()[0], {".cargo_id" => "[cargo]"}, @r#"
    {
      "cargo_id": "[cargo]",
      "success": false,
      "response": null,
      "error": "the provider said no"
    }
    "#);
}

#[tokio::test]
async fn more_than_a_destinations_share_is_delivered_all_the_same() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let customer = service.customer().await;
    // The share is 16 in these tests.
    for number in 0..50 {
        service
            .load(&customer, &chat(&number.to_string(), Some(receiver.url())))
            .await;
    }
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    assert_eq!(receiver.received().len(), 50);
}

#[tokio::test]
async fn an_address_that_is_not_allowed_is_never_called() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    let cargo = service
        .load(&customer, &chat("Inside.", Some("http://127.9.9.9:9/")))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["status"], "COMPLETED");
    assert_eq!(
        record["callback"]["last_status_code"],
        serde_json::Value::Null
    );
    insta::assert_json_snapshot!(record["callback"]["last_error"], @r#""address is not allowed""#);
}

#[tokio::test]
async fn the_mock_obeys_its_directives() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    let failed = service
        .load(&customer, &chat("[mock:fail=out of rope]", None))
        .await;
    let soon = service
        .load(&customer, &chat("[mock:delay=2s] soon", None))
        .await;
    service.work().await;
    service.clock.advance(std::time::Duration::from_secs(2));
    service.work().await;
    assert_eq!(service.status(&customer, &soon).await, "COMPLETED");
    assert_eq!(service.status(&customer, &failed).await, "PROCESSING");
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    assert_eq!(
        service.track(&customer, &failed).await["error"],
        "out of rope"
    );
}
