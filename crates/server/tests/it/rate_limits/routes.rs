//! Limits of the routes other than load: loops of one project are refused, others continue.

use std::time::Duration;

use api::rate_limit::RouteLimits;
use serde_json::json;

use crate::support::http::{AppResponse, chat_request};
use crate::support::test_limits::TestLimits;
use crate::support::{Customer, TestService};

async fn service() -> TestService {
    TestService::with_limits(TestLimits {
        route_limits: RouteLimits {
            reads_per_minute: 6,
            file_writes_per_minute: 3,
        },
        ..TestLimits::default()
    })
    .await
}

/// The first answer with 429, and how many came before it.
async fn until_refused(
    service: &TestService,
    customer: &Customer,
    method: &str,
    path: &str,
) -> (usize, AppResponse) {
    let mut count = 0;
    loop {
        let answer = service.send_json(customer, method, path, &json!({})).await;
        if answer.status == 429 {
            return (count, answer);
        }
        count += 1;
        assert!(count < 20, "{method} {path} has no limit");
    }
}

#[tokio::test]
async fn m8_a_loop_of_reads_is_refused_and_other_projects_continue() {
    let service = service().await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("Hello.", None)).await;
    let path = format!("/cargo/{cargo}/tracking");
    let (count, refused) = until_refused(&service, &customer, "GET", &path).await;
    assert_eq!(count, 6);
    assert_eq!(refused.headers["retry-after"], "10");
    insta::assert_snapshot!(refused, @r#"
    429 {
      "detail": "Too many requests from this project. Please slow down."
    }
    "#);
    // The Files routes share the bucket, in their own format.
    let files = service.get(&customer, "/files").await;
    assert_eq!(files.headers["retry-after"], "10");
    insta::assert_snapshot!(files, @r#"
    429 {
      "error": "rate_limit_exceeded",
      "message": "Too many requests from this project. Please slow down.",
      "detail": {
        "error": "rate_limit_exceeded",
        "message": "Too many requests from this project. Please slow down."
      }
    }
    "#);
    let sibling = service.create_sibling_project(&customer).await;
    assert_eq!(service.get(&sibling, "/files").await.status, 200);
    // Loads have limits of their own.
    service.load(&customer, &chat_request("Hello.", None)).await;
    service.clock.advance(Duration::from_secs(10));
    assert_eq!(service.get(&customer, &path).await.status, 200);
    assert_eq!(service.get(&customer, &path).await.status, 429);
}

#[tokio::test]
async fn m8_a_loop_of_file_writes_is_refused_on_every_route() {
    let service = service().await;
    let file = "/files/file_00000000000000000000000000000000";
    for (method, path) in [
        ("POST", "/files".to_owned()),
        ("POST", format!("{file}/complete")),
        ("POST", format!("{file}/parts")),
        ("PATCH", file.to_owned()),
        ("DELETE", file.to_owned()),
    ] {
        let customer = service.create_customer().await;
        let (count, refused) = until_refused(&service, &customer, method, &path).await;
        assert_eq!(count, 3, "{method} {path}");
        assert_eq!(refused.body["error"], "rate_limit_exceeded");
        // Reading files goes on.
        assert_eq!(service.get(&customer, "/files").await.status, 200);
    }
}

#[tokio::test]
async fn m8_a_refused_key_is_not_counted() {
    let service = service().await;
    let mut customer = service.create_customer().await;
    let key = std::mem::replace(&mut customer.key, "wrong".to_owned());
    for _ in 0..20 {
        assert_eq!(service.get(&customer, "/files").await.status, 401);
    }
    customer.key = key;
    assert_eq!(service.get(&customer, "/files").await.status, 200);
}
