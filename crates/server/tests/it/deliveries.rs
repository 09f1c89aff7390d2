//! Deliver: slots per destination, failures, and what a receiver gets.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use domain::id::CargoId;
use serde_json::json;
use test_support::callback_receiver::CallbackReceiver;
use tokio::net::TcpListener;
use workers::stage::Stage as _;

use crate::support::http::chat_request;
use crate::support::{MOCK_DELAY, TestService};

#[tokio::test]
async fn a_failed_cargo_is_called_back_like_any_other() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request("No.", Some(receiver.url()));
    body["params"]["model"] = json!("failing");
    let cargo = service.load(&customer, &body).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );
    insta::assert_json_snapshot!(receiver.callbacks()[0], {".cargo_id" => "[cargo]"}, @r#"
    {
      "cargo_id": "[cargo]",
      "success": false,
      "response": null,
      "error": "the provider said no",
      "error_code": "request_rejected"
    }
    "#);
}

#[tokio::test]
async fn a_failure_of_an_earlier_version_has_no_code() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request("No.", Some(receiver.url()));
    body["params"]["model"] = json!("failing");
    let cargo = service.load(&customer, &body).await;
    receiver.queue_statuses([500]);
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["error_code"], "request_rejected");
    let earlier = sqlx::raw_sql("update shard.outcome set failure_code = null");
    earlier.execute(&service.north.pool).await.unwrap();
    service.clock.advance(Duration::from_secs(30));
    service.run_until_idle().await;
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["status"], "callback_delivered");
    assert_eq!(record["error"], "the provider said no");
    assert_eq!(record["error_code"], serde_json::Value::Null);
    let callbacks = receiver.callbacks();
    assert_eq!(callbacks[0]["error_code"], "request_rejected");
    assert_eq!(callbacks[1]["error_code"], serde_json::Value::Null);
}

#[tokio::test]
async fn more_callbacks_than_slots_of_a_destination_are_all_delivered() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    // A destination has 16 slots in these tests.
    for number in 0..50 {
        service
            .load(
                &customer,
                &chat_request(&number.to_string(), Some(receiver.url())),
            )
            .await;
    }
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(receiver.callbacks().len(), 50);
}

/// Adds a constraint that forbids rows of this cargo, as a defect would.
async fn forbid_row(service: &TestService, table: &str, cargo: &str, condition: &str) {
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
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let mut cargo = Vec::new();
    for number in 0..6 {
        let body = chat_request(&number.to_string(), Some(receiver.url()));
        cargo.push(service.load(&customer, &body).await);
    }
    forbid_row(&service, "attempt", &cargo[1], "false").await;
    forbid_row(&service, "attempt", &cargo[3], "false").await;
    forbid_row(
        &service,
        "cargo",
        &cargo[3],
        "callback_state <> 'delivered'",
    )
    .await;
    forbid_row(&service, "attempt", &cargo[4], "false").await;
    let ends = "callback_state not in ('delivered', 'failed')";
    forbid_row(&service, "cargo", &cargo[4], ends).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
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
    // The delivery that could not be ended is released, and its takeover is counted.
    let left = "select takeovers from shard.delivery where node is null and due_at > $1";
    let left = sqlx::query_scalar::<_, i32>(left).bind(service.now());
    assert_eq!(left.fetch_all(&service.north.pool).await.unwrap(), [1]);
}

#[tokio::test]
async fn an_outcome_that_cannot_be_read_stops_no_other() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let mut cargo = Vec::new();
    for number in 0..3 {
        let body = chat_request(&number.to_string(), Some(receiver.url()));
        cargo.push(service.load(&customer, &body).await);
    }
    receiver.queue_statuses([500, 500, 500]);
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let id: CargoId = cargo[1].parse().unwrap();
    let corrupt = format!(
        "update shard.outcome set codec = 7 where cargo = '{}'",
        id.uuid()
    );
    let corrupt = sqlx::raw_sql(sqlx::AssertSqlSafe(corrupt));
    let corrupt = corrupt.execute(&service.north.pool);
    corrupt.await.unwrap();
    service.clock.advance(Duration::from_secs(30));
    service.run_until_idle().await;
    for (number, status) in [(0, "callback_delivered"), (2, "callback_delivered")] {
        assert_eq!(service.status(&customer, &cargo[number]).await, status);
    }
    let callback = "select error from shard.attempt where cargo = $1 and number = 2";
    let callback = sqlx::query_scalar::<_, String>(callback).bind(id.uuid());
    let error = callback.fetch_one(&service.north.pool).await.unwrap();
    assert_eq!(error, "not sent: the stored outcome cannot be read");
}

#[tokio::test]
async fn h4_callbacks_larger_than_their_memory_are_delivered_one_by_one() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    // The budget is 1 MB in these tests, and each outcome repeats its request.
    for number in 0..3 {
        let text = number.to_string().repeat(1 << 20);
        service
            .load(&customer, &chat_request(&text, Some(receiver.url())))
            .await;
    }
    receiver.queue_statuses([500; 3]);
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    service.clock.advance(Duration::from_secs(30));
    service.run_until_idle().await;
    assert_eq!(receiver.callbacks().len(), 6);
}

/// How many connections are open, and the maximum so far.
#[derive(Default)]
struct ConnectionCounts {
    now: AtomicUsize,
    max: AtomicUsize,
}

/// Accepts connections on every loopback address and never answers.
async fn start_hanging_receiver() -> (u16, Arc<ConnectionCounts>) {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let (port, open) = (
        listener.local_addr().unwrap().port(),
        Arc::new(ConnectionCounts::default()),
    );
    let counts = Arc::clone(&open);
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
    (port, counts)
}

#[tokio::test]
async fn hanging_receivers_leave_slots_to_a_quick_one() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let healthy = service.create_customer().await;
    let quick = chat_request("quick", Some(receiver.url()));
    service.load(&healthy, &quick).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;

    let (port, open) = start_hanging_receiver().await;
    for _ in 0..4 {
        let customer = service.create_customer().await;
        for host in 1..=20 {
            let url = format!("http://127.0.{host}.1:{port}/");
            let body = chat_request("dead", Some(&url));
            service.load(&customer, &body).await;
            service.load(&customer, &body).await;
        }
    }
    for _ in 0..20 {
        service.load(&healthy, &quick).await;
    }
    let now = service.clock.advance(MOCK_DELAY);
    let workers = &mut service.worker_sets[0];
    while receiver.callbacks().len() < 21 {
        workers.gather.step(now).await.unwrap();
        workers.dispatch.step(now).await.unwrap();
        workers.collect.step(now).await.unwrap();
        workers.deliver.step(now).await.unwrap();
    }
    // Of 64 slots: a quarter for hosts that were never called, a quarter for failing ones.
    let max = open.max.load(Ordering::Relaxed);
    assert!((1..=32).contains(&max), "{max}");
    let cargo: HashSet<_> = receiver
        .callbacks()
        .iter()
        .map(|it| it["cargo_id"].to_string())
        .collect();
    assert_eq!(cargo.len(), 21);
}

#[tokio::test]
async fn an_address_that_is_not_allowed_is_never_called() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = service
        .load(
            &customer,
            &chat_request("Inside.", Some("http://127.9.9.9:9/")),
        )
        .await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["status"], "COMPLETED");
    assert_eq!(
        record["callback"]["last_status_code"],
        serde_json::Value::Null
    );
    insta::assert_json_snapshot!(record["callback"]["last_error"], @r#""address is not allowed""#);
}

#[tokio::test]
async fn a_plain_http_callback_is_not_sent_in_production() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    // Loaded under development. Then the operator sets production.
    let cargo = service
        .load(&customer, &chat_request("Plain.", Some(receiver.url())))
        .await;
    service.worker_sets = vec![service.join_production_worker_set().await];
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    for delay in [30, 120, 600, 1800, 3600] {
        service.clock.advance(Duration::from_secs(delay));
        service.run_until_idle().await;
    }
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["status"], "callback_failed");
    assert_eq!(record["success"], true);
    assert_eq!(record["callback"]["attempts"], 6);
    assert_eq!(
        record["callback"]["last_status_code"],
        serde_json::Value::Null
    );
    insta::assert_json_snapshot!(record["callback"]["last_error"], @r#""not sent: plain http callbacks are not delivered in production; load again with an https callback_url""#);
    assert!(receiver.callbacks().is_empty());
}

#[tokio::test]
async fn the_mock_obeys_its_directives() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let failed = service
        .load(&customer, &chat_request("[mock:fail=out of rope]", None))
        .await;
    let soon = service
        .load(&customer, &chat_request("[mock:delay=2s] soon", None))
        .await;
    service.run_until_idle().await;
    service.clock.advance(std::time::Duration::from_secs(2));
    service.run_until_idle().await;
    assert_eq!(service.status(&customer, &soon).await, "COMPLETED");
    assert_eq!(service.status(&customer, &failed).await, "PROCESSING");
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(
        service.track(&customer, &failed).await["error"],
        "out of rope"
    );
}
