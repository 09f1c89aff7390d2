//! Partitions: made ahead, made by a load that finds none, and whatever else of sweep fails.

use std::time::Duration;

use chrono::Days;
use domain::time::Timestamp;
use store::shard::partition::{self, DaysReady};
use workers::stage::Stage as _;

use crate::support::Service;
use crate::support::http::chat;

async fn ready(service: &Service, now: Timestamp) -> DaysReady {
    partition::days_ready(&service.north, now).await.unwrap()
}

async fn execute(service: &Service, statement: &str) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()))
        .execute(&service.north.pool)
        .await
        .unwrap();
}

/// Takes a day's partitions away.
async fn lose_day(service: &Service, at: Timestamp) {
    for table in ["outcome", "attempt", "trouble", "request", "cargo"] {
        let day = at.format("%Y%m%d");
        execute(service, &format!("drop table shard.{table}_{day}")).await;
    }
}

#[tokio::test]
async fn thirty_days_are_made_ahead_though_another_part_of_sweep_fails() {
    let mut service = Service::new().await;
    let now = service.clock.advance(Duration::from_hours(40 * 24));
    assert!(!ready(&service, now).await.today);
    // What follows the days in sweep, and what comes each second, cannot work.
    execute(&service, "alter table shard.idempotency rename to lost").await;
    execute(&service, "alter table shard.usage rename to lost_too").await;
    service.crews[0].sweep.step(now).await.unwrap();
    let expected = DaysReady {
        today: true,
        ahead: 30,
    };
    assert_eq!(ready(&service, now).await, expected);
}

#[tokio::test]
async fn a_part_of_sweep_that_fails_stops_no_other() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    let cargo = service.load(&customer, &chat("late", None)).await;
    // Days cannot be made, and counts cannot be folded.
    execute(
        &service,
        "alter function shard.make_day(date) rename to lost; alter table shard.usage rename to lost",
    )
    .await;
    let now = service.clock.advance(Duration::from_hours(24 * 40));
    service.crews[0].sweep.step(now).await.unwrap();
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");
}

#[tokio::test]
async fn a_load_makes_the_day_that_is_missing() {
    let service = Service::new().await;
    let customer = service.customer().await;
    lose_day(&service, service.now()).await;
    assert!(!ready(&service, service.now()).await.today);
    let cargo = service
        .load(&customer, &chat("first of the day", None))
        .await;
    assert_eq!(service.status(&customer, &cargo).await, "PENDING");
    assert!(ready(&service, service.now()).await.today);
}

#[tokio::test]
async fn many_processes_make_the_same_day() {
    let service = Service::new().await;
    let later = service.now().checked_add_days(Days::new(100)).unwrap();
    let makers = (0..6).map(|_| partition::make_missing(&service.north, later));
    for made in futures::future::join_all(makers).await {
        made.unwrap();
    }
    assert!(ready(&service, later).await.today);
}
