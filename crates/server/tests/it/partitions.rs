//! Daily partitions: made ahead by sweep, or by a load that finds none.

use std::sync::Arc;
use std::time::Duration;

use chrono::Days;
use domain::time::Timestamp;
use store::Shard;
use store::shard::partition::{self, DaysReady};
use workers::stage::Stage as _;

use crate::support::TestService;
use crate::support::http::chat_request;

async fn days_ready(service: &TestService, now: Timestamp) -> DaysReady {
    partition::read_days_ready(&service.north, now)
        .await
        .unwrap()
}

async fn execute(service: &TestService, statement: &str) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()))
        .execute(&service.north.pool)
        .await
        .unwrap();
}

/// Drops a day's partitions.
async fn drop_day(service: &TestService, at: Timestamp) {
    for table in ["outcome", "attempt", "trouble", "request", "cargo"] {
        let day = at.format("%Y%m%d");
        execute(service, &format!("drop table shard.{table}_{day}")).await;
    }
}

#[tokio::test]
async fn thirty_days_are_made_ahead_though_another_part_of_sweep_fails() {
    let service = TestService::new().await;
    let clock = service.clock.clone();
    let shard = Shard::connect_lazily("north", &service.north_url(), 4, clock).unwrap();
    let mut workers = service.join_worker_set_on(Arc::new(shard)).await;
    let now = service.clock.advance(Duration::from_hours(40 * 24));
    assert!(!days_ready(&service, now).await.today);
    // The part of sweep after the partitions fails, and so does the fold of every second.
    execute(&service, "alter table shard.idempotency rename to lost").await;
    execute(&service, "alter table shard.usage rename to lost_too").await;
    workers.sweep.step(now).await.unwrap();
    let expected = DaysReady {
        today: true,
        ahead: 30,
    };
    assert_eq!(days_ready(&service, now).await, expected);
}

#[tokio::test]
async fn a_part_of_sweep_that_fails_stops_no_other() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("late", None)).await;
    // Partitions cannot be made, and counts cannot be folded.
    execute(
        &service,
        "alter function shard.make_day(date) rename to lost; alter table shard.usage rename to lost",
    )
    .await;
    let now = service.clock.advance(Duration::from_hours(24 * 40));
    service.worker_sets[0].sweep.step(now).await.unwrap();
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");
}

#[tokio::test]
async fn a_load_makes_the_day_that_is_missing() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    drop_day(&service, service.now()).await;
    assert!(!days_ready(&service, service.now()).await.today);
    let cargo = service
        .load(&customer, &chat_request("first of the day", None))
        .await;
    assert_eq!(service.status(&customer, &cargo).await, "PENDING");
    assert!(days_ready(&service, service.now()).await.today);
}

#[tokio::test]
async fn many_processes_make_the_same_day() {
    let service = TestService::new().await;
    let later = service.now().checked_add_days(Days::new(100)).unwrap();
    let makers = (0..6).map(|_| partition::make_missing_day(&service.north, later));
    for made in futures::future::join_all(makers).await {
        made.unwrap();
    }
    assert!(days_ready(&service, later).await.today);
}
