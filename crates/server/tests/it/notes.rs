//! What is noted along the path for pages: troubles, shares of batches, the health of hosts.

use std::time::Duration;

use sqlx::AssertSqlSafe;
use workers::stage::Stage as _;

use crate::support::http::chat;
use crate::support::receiver::Receiver;
use crate::support::{Customer, MOCK_DELAY, Service};

/// The columns of a project's rows, one line each.
async fn rows(service: &Service, customer: &Customer, columns: &str, table: &str) -> Vec<String> {
    let lines = format!(
        "select concat_ws(' ', {columns}) from shard.{table} where project = $1 order by 1"
    );
    let lines = sqlx::query_scalar(AssertSqlSafe(lines)).bind(customer.project.uuid());
    lines.fetch_all(&service.north.pool).await.unwrap()
}

async fn shares(service: &Service, customer: &Customer) -> Vec<String> {
    rows(service, customer, "cargo, succeeded, failed", "share").await
}

#[tokio::test]
async fn a_mixed_journey_leaves_its_notes() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let customer = service.customer().await;
    let sibling = service.sibling_of(&customer).await;
    for text in ["one", "two", "[mock:fail=line 7 broke]"] {
        let body = chat(text, Some(receiver.url()));
        service.load(&customer, &body).await;
    }
    let failing = chat("[mock:fail=line 12 broke]", None);
    service.load(&sibling, &failing).await;
    service
        .load(&customer, &chat("[mock:delay=600s] late", None))
        .await;
    let now = service.now();
    service.crews[0].gather.step(now).await.unwrap();
    assert_eq!(shares(&service, &customer).await, ["4 0 0"]);
    assert_eq!(shares(&service, &sibling).await, ["1 0 0"]);

    receiver.answer([500]);
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    assert_eq!(shares(&service, &customer).await, ["4 2 1"]);
    assert_eq!(shares(&service, &sibling).await, ["1 0 1"]);
    for whose in [&customer, &sibling] {
        let troubles = rows(&service, whose, "kind, label", "trouble").await;
        assert_eq!(troubles, ["failed line # broke"]);
    }
    let now = service.clock.advance(Duration::from_secs(30));
    service.work().await;
    service.crews[0].sweep.step(now).await.unwrap();
    let columns = "hour at time zone 'UTC', ending, sum(count) over (partition by ending)";
    let mut health = rows(&service, &customer, columns, "callback_hour").await;
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
async fn the_shares_of_a_halved_batch_go_with_its_cargo() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    for number in 0..5 {
        let body = chat(&number.to_string(), None);
        service.load(&customer, &body).await;
    }
    let now = service.now();
    service.crews[0].gather.step(now).await.unwrap();
    let poison = "update shard.batch set takeovers = 5";
    let poison = sqlx::raw_sql(poison).execute(&service.north.pool);
    poison.await.unwrap();
    service.crews[0].dispatch.step(now).await.unwrap();
    assert_eq!(
        shares(&service, &customer).await,
        ["0 0 0", "2 0 0", "3 0 0"]
    );
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    assert_eq!(
        shares(&service, &customer).await,
        ["0 0 0", "2 2 0", "3 3 0"]
    );
}

#[tokio::test]
async fn an_unreachable_host_is_told_from_one_that_refuses() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    let nobody = chat("Hello?", Some("http://127.0.0.1:1/"));
    service.load(&customer, &nobody).await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    for wait in [30, 120, 600, 1800, 3600] {
        service.clock.advance(Duration::from_secs(wait));
        service.work().await;
    }
    let now = service.now();
    service.crews[0].sweep.step(now).await.unwrap();
    let columns = "host, ending, sum(count) over ()";
    let mut health = rows(&service, &customer, columns, "callback_hour").await;
    health.dedup();
    assert_eq!(health, ["127.0.0.1:1 unreachable 6"]);
    let troubles = rows(&service, &customer, "kind, label", "trouble").await;
    assert_eq!(troubles, ["callback_failed 127.0.0.1:1"]);
}
