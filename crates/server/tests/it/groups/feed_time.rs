//! When an outcome of a group is in the feed.

use std::time::Duration;

use domain::id::CargoId;
use serde_json::json;
use store::shard::cancel::cancel_one;

use super::{create_group, grouped};
use crate::support::TestService;

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A time of the database's clock, in seconds.
async fn read_seconds(service: &TestService, statement: &'static str) -> f64 {
    let seconds = sqlx::query_scalar::<_, f64>(statement);
    seconds.fetch_one(&service.north.pool).await.unwrap()
}

/// Waits until a session waits for the lock of another.
async fn wait_for_lock(service: &TestService) {
    let waiting = "select count(*) from pg_stat_activity
                   where datname = current_database() and wait_event_type = 'Lock'";
    loop {
        let waiting = sqlx::query_scalar::<_, i64>(waiting);
        if waiting.fetch_one(&service.north.pool).await.unwrap() > 0 {
            return;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[tokio::test]
async fn an_entry_has_its_time_after_the_wait_for_its_group() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer, "run").await.id;
    let body = grouped("Hi.", group, &json!({}));
    let cargo: CargoId = service.load(&customer, &body).await.parse().unwrap();
    let mut holder = service.north.begin().await.unwrap();
    let lock = "select id from shard.cargo_group where id = $1 for no key update";
    let lock = sqlx::query_scalar::<_, uuid::Uuid>(lock).bind(group.uuid());
    lock.fetch_one(&mut *holder).await.unwrap();
    let cancelling = cancel_one(&service.north, customer.project, cargo, service.now());
    let releasing = async {
        wait_for_lock(&service).await;
        let now = "select extract(epoch from clock_timestamp())::float8";
        let released_at = read_seconds(&service, now).await;
        holder.rollback().await.unwrap();
        released_at
    };
    let (cancelled, released_at) = tokio::join!(cancelling, releasing);
    assert!(cancelled.unwrap().is_some());
    let entry = "select extract(epoch from at)::float8 from shard.feed";
    assert!(read_seconds(&service, entry).await >= released_at);
}
