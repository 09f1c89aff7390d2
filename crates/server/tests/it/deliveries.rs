//! Deliver: shares, failures and what a receiver sees.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use domain::id::CargoId;
use serde_json::json;
use tokio::net::TcpListener;
use workers::stage::Stage as _;

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

/// Forbids rows of this cargo, as a defect would.
async fn forbid(service: &Service, table: &str, cargo: &str, condition: &str) {
    let id: CargoId = cargo.parse().unwrap();
    let (id, name) = (id.uuid(), format!("poison_{}", rand::random::<u32>()));
    let column = if table == "cargo" { "id" } else { "cargo" };
    let statement = format!(
        "alter table shard.{table} add constraint {name}
         check ({column} <> '{id}' or ({condition}))"
    );
    let statement = sqlx::raw_sql(sqlx::AssertSqlSafe(statement));
    statement.execute(&service.north.pool).await.unwrap();
}

#[tokio::test]
async fn an_attempt_that_cannot_be_recorded_stops_no_other() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let customer = service.customer().await;
    let mut cargo = Vec::new();
    for number in 0..6 {
        let body = chat(&number.to_string(), Some(receiver.url()));
        cargo.push(service.load(&customer, &body).await);
    }
    forbid(&service, "attempt", &cargo[1], "false").await;
    forbid(&service, "attempt", &cargo[3], "false").await;
    forbid(
        &service,
        "cargo",
        &cargo[3],
        "callback_state <> 'delivered'",
    )
    .await;
    forbid(&service, "attempt", &cargo[4], "false").await;
    let ends = "callback_state not in ('delivered', 'failed')";
    forbid(&service, "cargo", &cargo[4], ends).await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    let mut statuses = Vec::new();
    for cargo in &cargo {
        statuses.push(service.status(&customer, cargo).await);
    }
    let delivered = "callback_delivered";
    assert_eq!(
        statuses,
        [
            delivered,
            delivered,
            delivered,
            "callback_failed",
            "COMPLETED",
            delivered
        ]
    );
    // What could not be ended at all is free, and its takeover is counted.
    let left = "select takeovers from shard.delivery where node is null and due_at > $1";
    let left = sqlx::query_scalar::<_, i32>(left).bind(service.now());
    assert_eq!(left.fetch_all(&service.north.pool).await.unwrap(), [1]);
}

#[tokio::test]
async fn an_outcome_that_cannot_be_read_stops_no_other() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let customer = service.customer().await;
    let mut cargo = Vec::new();
    for number in 0..3 {
        let body = chat(&number.to_string(), Some(receiver.url()));
        cargo.push(service.load(&customer, &body).await);
    }
    receiver.answer([500, 500, 500]);
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    let id: CargoId = cargo[1].parse().unwrap();
    let corrupt = format!(
        "update shard.outcome set codec = 7 where cargo = '{}'",
        id.uuid()
    );
    let corrupt = sqlx::raw_sql(sqlx::AssertSqlSafe(corrupt));
    let corrupt = corrupt.execute(&service.north.pool);
    corrupt.await.unwrap();
    service.clock.advance(Duration::from_secs(30));
    service.work().await;
    for (number, status) in [(0, "callback_delivered"), (2, "callback_delivered")] {
        assert_eq!(service.status(&customer, &cargo[number]).await, status);
    }
    let callback = "select error from shard.attempt where cargo = $1 and number = 2";
    let callback = sqlx::query_scalar::<_, String>(callback).bind(id.uuid());
    let error = callback.fetch_one(&service.north.pool).await.unwrap();
    assert_eq!(error, "set aside: the stored outcome cannot be read");
}

#[tokio::test]
async fn callbacks_larger_than_their_memory_are_delivered_one_by_one() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let customer = service.customer().await;
    // The budget is 1 MB in these tests, and each outcome repeats its request.
    for number in 0..3 {
        let text = number.to_string().repeat(1 << 20);
        service
            .load(&customer, &chat(&text, Some(receiver.url())))
            .await;
    }
    receiver.answer([500; 3]);
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    service.clock.advance(Duration::from_secs(30));
    service.work().await;
    assert_eq!(receiver.received().len(), 6);
}

/// How many connections are open, and how many were at most.
#[derive(Default)]
struct Open {
    now: AtomicUsize,
    max: AtomicUsize,
}

/// Accepts connections on every loopback address and answers nothing.
async fn hanging() -> (u16, Arc<Open>) {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let (port, open) = (
        listener.local_addr().unwrap().port(),
        Arc::new(Open::default()),
    );
    let seen = Arc::clone(&open);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let open = Arc::clone(&open);
            let now = open.now.fetch_add(1, Ordering::Relaxed) + 1;
            open.max.fetch_max(now, Ordering::Relaxed);
            tokio::spawn(async move {
                let _ = tokio::io::copy(&mut socket, &mut tokio::io::sink()).await;
                open.now.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    (port, seen)
}

#[tokio::test]
async fn hanging_receivers_leave_slots_to_a_quick_one() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let healthy = service.customer().await;
    let quick = chat("quick", Some(receiver.url()));
    service.load(&healthy, &quick).await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;

    let (port, open) = hanging().await;
    for _ in 0..4 {
        let customer = service.customer().await;
        for host in 1..=20 {
            let url = format!("http://127.0.{host}.1:{port}/");
            let body = chat("dead", Some(&url));
            service.load(&customer, &body).await;
            service.load(&customer, &body).await;
        }
    }
    for _ in 0..20 {
        service.load(&healthy, &quick).await;
    }
    let now = service.clock.advance(MOCK_DELAY);
    let crew = &mut service.crews[0];
    while receiver.received().len() < 21 {
        crew.gather.step(now).await.unwrap();
        crew.dispatch.step(now).await.unwrap();
        crew.collect.step(now).await.unwrap();
        crew.deliver.step(now).await.unwrap();
    }
    // Of 64 slots: a quarter for hosts that were never called, a quarter for failing ones.
    let max = open.max.load(Ordering::Relaxed);
    assert!((1..=32).contains(&max), "{max}");
    let cargo: HashSet<_> = receiver
        .received()
        .iter()
        .map(|it| it["cargo_id"].to_string())
        .collect();
    assert_eq!(cargo.len(), 21);
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
