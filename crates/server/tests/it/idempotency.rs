//! `Idempotency-Key`: repeating a load is safe.

use std::time::Duration;

use futures::future::join_all;

use crate::support::TestService;
use crate::support::http::AppResponse;
use crate::support::http::chat_request;

#[tokio::test]
async fn the_same_key_and_body_are_the_same_cargo() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let body = chat_request("Once.", None);
    let first = service
        .post_load_with_key(&customer, "order-7", &body)
        .await;
    let again = service
        .post_load_with_key(&customer, "order-7", &body)
        .await;
    assert!(first.headers.get("idempotent-replay").is_none());
    assert_eq!(again.headers["idempotent-replay"], "true");
    assert_eq!(first.cargo_id(), again.cargo_id());
}

#[tokio::test]
async fn the_same_key_with_another_body_is_refused() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    service
        .post_load_with_key(&customer, "order-7", &chat_request("Once.", None))
        .await
        .cargo_id();
    let other = service
        .post_load_with_key(&customer, "order-7", &chat_request("Twice.", None))
        .await;
    insta::assert_snapshot!(other, @r#"
    409 {
      "detail": {
        "error": "idempotency_key_reused",
        "message": "This Idempotency-Key was used with another body in the last 24 hours. Use a new key for a new request."
      }
    }
    "#);
}

#[tokio::test]
async fn loads_under_one_key_that_arrive_together_are_one_cargo() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let body = chat_request("Together.", None);
    let loads = (0..20).map(|_| service.post_load_with_key(&customer, "order-7", &body));
    let answers = join_all(loads).await;
    let mut ids: Vec<_> = answers.iter().map(AppResponse::cargo_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1);
    let fresh = answers
        .iter()
        .filter(|it| it.headers.get("idempotent-replay").is_none());
    assert_eq!(fresh.count(), 1);
}

#[tokio::test]
async fn a_key_belongs_to_its_project() {
    let service = TestService::new().await;
    let (one, other) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    let body = chat_request("Mine.", None);
    let first = service
        .post_load_with_key(&one, "order-7", &body)
        .await
        .cargo_id();
    let second = service
        .post_load_with_key(&other, "order-7", &body)
        .await
        .cargo_id();
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_key_expires_after_a_day() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let body = chat_request("Daily.", None);
    let first = service
        .post_load_with_key(&customer, "order-7", &body)
        .await
        .cargo_id();
    service.clock.advance(Duration::from_hours(24));
    let second = service
        .post_load_with_key(&customer, "order-7", &body)
        .await
        .cargo_id();
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_key_that_is_too_long_is_a_validation_error() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let answer = service
        .post_load_with_key(&customer, &"k".repeat(256), &chat_request("Long.", None))
        .await;
    insta::assert_snapshot!(answer, @r#"
    422 {
      "detail": [
        {
          "type": "value_error",
          "loc": [
            "header",
            "idempotency-key"
          ],
          "msg": "Idempotency-Key must be 1 to 255 visible ASCII characters"
        }
      ]
    }
    "#);
}
