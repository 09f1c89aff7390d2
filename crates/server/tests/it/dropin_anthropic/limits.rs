//! Credit, the plan's pace, and repeated requests.

use std::time::Duration;

use serde_json::json;

use super::{id_of, item};
use crate::support::TestService;
use crate::support::credit::ONE_DOLLAR;
use crate::support::test_limits::TestLimits;

#[tokio::test]
async fn a_batch_that_the_balance_does_not_cover_is_refused() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let body = json!({"requests": [item("a", "priced")]});
    let refused = service.create_batch(&customer, &body).await;
    assert_eq!(refused.status, 402, "{refused}");
    assert_eq!(refused.body["error"]["type"], "billing_error");
    assert_eq!(refused.headers["x-should-retry"], "false");
    assert_eq!(service.count_stored_cargo(&customer).await, 0);
    service.add_credit(&customer, ONE_DOLLAR).await;
    let accepted = service.create_batch(&customer, &body).await;
    assert_eq!(accepted.status, 200, "{accepted}");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn items_without_credit_wait_an_hour_and_then_fail() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let body = json!({"requests": [item("a", "priced")]});
    let id = id_of(&service.create_batch(&customer, &body).await);
    // The credit is spent by other loads before the item is loaded.
    let statement = "update shard.account set held = posted where organization = $1";
    let spent = sqlx::query(statement).bind(customer.organization.uuid());
    spent.execute(&service.north.pool).await.unwrap();
    service.unpack().await;
    let waiting = service.find_batch(&customer, &id).await;
    assert_eq!(waiting["request_counts"]["processing"], 1);
    service.clock.advance(Duration::from_secs(3601));
    service.unpack().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["request_counts"]["errored"], 1, "{ended}");
    let results = service.batch_results(&customer, &id).await;
    let message = &results[0]["result"]["error"]["error"]["message"];
    assert!(message.as_str().unwrap().contains("credit"), "{message}");
}

#[tokio::test]
async fn a_batch_that_the_plan_cannot_load_in_a_day_is_refused() {
    let mut limits = TestLimits::default();
    limits.plan_limits.pro.rate.burst = 1;
    limits.plan_limits.pro.rate.per_minute = 0;
    let service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let body = json!({"requests": [item("a", "svc-mock"), item("b", "svc-mock")]});
    let refused = service.create_batch(&customer, &body).await;
    assert_eq!(refused.status, 400, "{refused}");
    let message = refused.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("1 items in 24 hours"), "{message}");
}

#[tokio::test]
async fn a_retry_gets_the_batch_of_the_first_request() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let body = json!({"requests": [item("a", "svc-mock")]});
    let first = id_of(&service.create_batch(&customer, &body).await);
    let retry = [("x-stainless-retry-count", "1")];
    let again = service.create_batch_with(&customer, &body, &retry).await;
    assert_eq!(id_of(&again), first);
    // Without the count it is a new batch, and so it is after ten minutes.
    let second = id_of(&service.create_batch(&customer, &body).await);
    assert_ne!(second, first);
    service.clock.advance(Duration::from_secs(601));
    let late = service.create_batch_with(&customer, &body, &retry).await;
    assert!(![first, second].contains(&id_of(&late)));
}

#[tokio::test]
async fn a_deleted_batch_is_repeated_by_a_new_one() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let key = [("idempotency-key", "k")];
    let body = json!({"requests": [item("a", "svc-mock")]});
    let first = id_of(&service.create_batch_with(&customer, &body, &key).await);
    service.finish_batches().await;
    let deleted = service.act_on_batch(&customer, "DELETE", &first).await;
    assert_eq!(deleted.status, 200, "{deleted}");
    let second = id_of(&service.create_batch_with(&customer, &body, &key).await);
    assert_ne!(second, first);
    let again = id_of(&service.create_batch_with(&customer, &body, &key).await);
    assert_eq!(again, second);
}

#[tokio::test]
async fn an_idempotency_key_names_one_batch() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let key = [("idempotency-key", "k")];
    let body = json!({"requests": [item("a", "svc-mock")]});
    let first = service.create_batch_with(&customer, &body, &key).await;
    let again = service.create_batch_with(&customer, &body, &key).await;
    assert_eq!(id_of(&again), id_of(&first));
    let other = json!({"requests": [item("b", "svc-mock")]});
    let reused = service.create_batch_with(&customer, &other, &key).await;
    assert_eq!(reused.status, 400, "{reused}");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn a_project_with_too_many_open_groups_creates_no_batch() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let fill = "insert into shard.cargo_group (id, organization, project, name, created_at)
                select gen_random_uuid(), $1, $2, 'g' || n, $3 from generate_series(1, 10000) as n";
    let filled = sqlx::query(fill)
        .bind(customer.organization.uuid())
        .bind(customer.project.uuid())
        .bind(service.now());
    filled.execute(&service.north.pool).await.unwrap();
    let body = json!({"requests": [item("a", "svc-mock")]});
    let refused = service.create_batch(&customer, &body).await;
    assert_eq!(refused.status, 429, "{refused}");
    assert_eq!(refused.body["error"]["type"], "rate_limit_error");
    assert_eq!(refused.headers["x-should-retry"], "false");
}
