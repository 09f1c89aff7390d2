//! Read models for the dashboard: failure index, batch shares, callback health of hosts.

use std::time::Duration;

use sqlx::AssertSqlSafe;
use test_support::callback_receiver::CallbackReceiver;
use workers::stage::Stage as _;

use crate::support::http::chat_request;
use crate::support::{Customer, MOCK_DELAY, TestService};

/// The columns of a project's rows, one line each.
async fn project_rows(
    service: &TestService,
    customer: &Customer,
    columns: &str,
    table: &str,
) -> Vec<String> {
    let lines = format!(
        "select concat_ws(' ', {columns}) from shard.{table} where project = $1 order by 1"
    );
    let lines = sqlx::query_scalar(AssertSqlSafe(lines)).bind(customer.project.uuid());
    lines.fetch_all(&service.north.pool).await.unwrap()
}

async fn batch_shares(service: &TestService, customer: &Customer) -> Vec<String> {
    project_rows(service, customer, "cargo, succeeded, failed", "share").await
}

#[tokio::test]
async fn read_models_follow_a_mixed_workload() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let sibling = service.create_sibling_project(&customer).await;
    for text in ["one", "two", "[mock:fail=line 7 broke]"] {
        let body = chat_request(text, Some(receiver.url()));
        service.load(&customer, &body).await;
    }
    let failing = chat_request("[mock:fail=line 12 broke]", None);
    service.load(&sibling, &failing).await;
    service
        .load(&customer, &chat_request("[mock:delay=600s] late", None))
        .await;
    let now = service.now();
    service.worker_sets[0].gather.step(now).await.unwrap();
    assert_eq!(batch_shares(&service, &customer).await, ["4 0 0"]);
    assert_eq!(batch_shares(&service, &sibling).await, ["1 0 0"]);

    receiver.queue_statuses([500]);
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(batch_shares(&service, &customer).await, ["4 2 1"]);
    assert_eq!(batch_shares(&service, &sibling).await, ["1 0 1"]);
    for project in [&customer, &sibling] {
        let failures = project_rows(&service, project, "kind, label", "trouble").await;
        assert_eq!(failures, ["failed line # broke"]);
    }
    let now = service.clock.advance(Duration::from_secs(30));
    service.run_until_idle().await;
    service.worker_sets[0].sweep.step(now).await.unwrap();
    let columns = "hour at time zone 'UTC', ending, sum(count) over (partition by ending)";
    let mut health = project_rows(&service, &customer, columns, "callback_hour").await;
    health.dedup();
    insta::assert_snapshot!(health.join("\n"), @"
    2026-01-01 00:00:00 delivered 3
    2026-01-01 00:00:00 refused 1
    ");
    let unfolded = "select count(*) from shard.callback_delta";
    let unfolded = sqlx::query_scalar::<_, i64>(unfolded).fetch_one(&service.north.pool);
    assert_eq!(unfolded.await.unwrap(), 0);
}

#[tokio::test]
async fn the_shares_of_a_split_batch_move_with_its_cargo() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    for number in 0..5 {
        let body = chat_request(&number.to_string(), None);
        service.load(&customer, &body).await;
    }
    let now = service.now();
    service.worker_sets[0].gather.step(now).await.unwrap();
    let poison = "update shard.batch set takeovers = 5";
    let poison = sqlx::raw_sql(poison).execute(&service.north.pool);
    poison.await.unwrap();
    service.worker_sets[0].dispatch.step(now).await.unwrap();
    assert_eq!(
        batch_shares(&service, &customer).await,
        ["0 0 0", "2 0 0", "3 0 0"]
    );
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(
        batch_shares(&service, &customer).await,
        ["0 0 0", "2 2 0", "3 3 0"]
    );
}

#[tokio::test]
async fn an_unreachable_host_is_distinguished_from_a_rejecting_one() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let unreachable = chat_request("Hello?", Some("http://127.0.0.1:1/"));
    service.load(&customer, &unreachable).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    for wait in [30, 120, 600, 1800, 3600] {
        service.clock.advance(Duration::from_secs(wait));
        service.run_until_idle().await;
    }
    let now = service.now();
    service.worker_sets[0].sweep.step(now).await.unwrap();
    let columns = "host, ending, sum(count) over ()";
    let mut health = project_rows(&service, &customer, columns, "callback_hour").await;
    health.dedup();
    assert_eq!(health, ["127.0.0.1:1 unreachable 6"]);
    let failures = project_rows(&service, &customer, "kind, label", "trouble").await;
    assert_eq!(failures, ["callback_failed 127.0.0.1:1"]);
}
