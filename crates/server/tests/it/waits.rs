//! Requests that wait: long-polls on tracking, and waiting for several cargo.

use axum::body::Body;
use axum::http::Request;
use domain::id::CargoId;
use domain::money::Money;
use futures::future::join_all;
use serde_json::{Value, json};
use store::shard::tracking;
use test_support::callback_receiver::CallbackReceiver;
use tokio::task::JoinHandle;
use workers::stage::Stage as _;

use crate::support::credit::model_chat_request;
use crate::support::http::{AppResponse, chat_request, send};
use crate::support::test_limits::TestLimits;
use crate::support::{Customer, MOCK_DELAY, TestService};

const RETRY_DELAY: std::time::Duration = std::time::Duration::from_secs(30);

/// Starts a long-poll on tracking.
fn start_poll(
    service: &TestService,
    customer: &Customer,
    cargo: &str,
    query: &str,
) -> JoinHandle<AppResponse> {
    let path = format!("/cargo/{cargo}/tracking?{query}");
    let request = Request::get(path).header("X-API-Key", &customer.key);
    let request = request.body(Body::empty()).unwrap();
    tokio::spawn(send(service.router.clone(), request))
}

fn start_wait(service: &TestService, customer: &Customer, body: &Value) -> JoinHandle<AppResponse> {
    let request = Request::post("/cargo/wait").header("X-API-Key", &customer.key);
    let request = request.body(Body::from(body.to_string())).unwrap();
    tokio::spawn(send(service.router.clone(), request))
}

/// Until so many requests wait.
async fn wait_for_waiting(service: &TestService, count: usize) {
    while service.app.count_waiting_requests() != count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_long_poll_is_answered_when_its_cargo_completes() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("Hi.", None)).await;
    let poll = start_poll(&service, &customer, &cargo, "wait=50");
    wait_for_waiting(&service, 1).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let answer = poll.await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body["status"], "COMPLETED");
    assert_eq!(answer.headers.get("retry-after"), None);
    // The record is the one that a request without a wait gets.
    assert_eq!(answer.body, service.track(&customer, &cargo).await);
    assert_eq!(service.app.count_waiting_requests(), 0);
}

#[tokio::test]
async fn a_long_poll_can_wait_until_the_callback_has_ended() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    receiver.queue_statuses([500]);
    let customer = service.create_customer().await;
    let body = chat_request("Hi.", Some(receiver.url()));
    let cargo = service.load(&customer, &body).await;
    let poll = start_poll(&service, &customer, &cargo, "wait=50&until=delivered");
    wait_for_waiting(&service, 1).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");
    // Completion is enough for another one, and wakes the first one for nothing.
    let completed = start_poll(&service, &customer, &cargo, "wait=50").await;
    assert_eq!(completed.unwrap().body["status"], "COMPLETED");
    assert!(!poll.is_finished());
    service.clock.advance(RETRY_DELAY);
    service.run_until_idle().await;
    let answer = poll.await.unwrap();
    assert_eq!(answer.body["status"], "callback_delivered");
}

#[tokio::test]
async fn without_entries_in_the_feed_the_rows_are_checked() {
    let mut service = TestService::new().await;
    let lose_entries = "create function shard.lose() returns trigger language plpgsql
             as $$ begin return null; end $$;
         create trigger lose before insert on shard.feed
             for each row execute function shard.lose();";
    let lost = sqlx::raw_sql(lose_entries).execute(&service.north.pool);
    lost.await.unwrap();
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("Hi.", None)).await;
    let poll = start_poll(&service, &customer, &cargo, "wait=50");
    wait_for_waiting(&service, 1).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(poll.await.unwrap().body["status"], "COMPLETED");
}

#[tokio::test]
async fn waiting_requests_are_answered_when_the_process_stops() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("Hi.", None)).await;
    let poll = start_poll(&service, &customer, &cargo, "wait=50");
    let wait = start_wait(&service, &customer, &json!({"cargo_ids": [cargo]}));
    wait_for_waiting(&service, 2).await;
    service.app.drain();
    let answer = poll.await.unwrap();
    assert_eq!(
        (answer.status, &answer.body["status"]),
        (200, &json!("PENDING"))
    );
    assert_eq!(wait.await.unwrap().body["pending"], json!([cargo]));
    // A later one does not wait either.
    let late = start_poll(&service, &customer, &cargo, "wait=50").await;
    assert_eq!(late.unwrap().body["status"], "PENDING");
}

#[tokio::test]
async fn requests_beyond_the_limit_do_not_wait() {
    let limits = TestLimits {
        max_connections: 4,
        ..TestLimits::default()
    };
    let service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("Hi.", None)).await;
    let polls: Vec<_> = (0..3)
        .map(|_| start_poll(&service, &customer, &cargo, "wait=50"))
        .collect();
    wait_for_waiting(&service, 3).await;
    let refused = start_poll(&service, &customer, &cargo, "wait=50").await;
    let refused = refused.unwrap();
    assert_eq!(
        (refused.status, &refused.headers["retry-after"]),
        (200, &"2".parse().unwrap())
    );
    assert_eq!(refused.body["status"], "PENDING");
    let body = json!({"cargo_ids": [cargo]});
    let refused = start_wait(&service, &customer, &body).await.unwrap();
    assert_eq!(refused.headers["retry-after"], "2");
    assert_eq!(refused.body["pending"], json!([cargo]));
    // A caller that hangs up makes room.
    for poll in polls {
        poll.abort();
    }
    wait_for_waiting(&service, 0).await;
}

#[tokio::test]
async fn one_request_waits_for_several_cargo() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let stranger = service.create_customer().await;
    let foreign = service.load(&stranger, &chat_request("No.", None)).await;
    let first = service.load(&customer, &chat_request("One.", None)).await;
    // The first one is in a batch that ends a minute before the next.
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    let second = service.load(&customer, &chat_request("Two.", None)).await;
    let body = json!({"cargo_ids": [second, "x", first, foreign, second], "wait": 60});
    let wait = start_wait(&service, &customer, &body);
    wait_for_waiting(&service, 1).await;
    service.run_until_idle().await;
    let answer = wait.await.unwrap();
    assert_eq!(answer.status, 200, "{answer}");
    let record = service.track(&customer, &first).await;
    let expected = json!({
        "completed": [record],
        "pending": [second],
        "unknown": ["x", foreign],
    });
    assert_eq!(answer.body, expected);
    // What is completed already is answered at once.
    let body = json!({"cargo_ids": [second, first], "wait": 60});
    let answer = start_wait(&service, &customer, &body).await.unwrap();
    assert_eq!(answer.body["completed"][0]["cargo_id"], first);
    let body = json!({"cargo_ids": [second], "wait": 0});
    let answer = start_wait(&service, &customer, &body).await.unwrap();
    assert_eq!(
        answer.body,
        json!({"completed": [], "pending": [second], "unknown": []})
    );
    assert_eq!(answer.headers.get("retry-after"), None);
}

#[tokio::test]
async fn wrong_waits_are_refused() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("Hi.", None)).await;
    for query in ["wait=61", "wait=x", "wait=1&until=sent"] {
        let answer = start_poll(&service, &customer, &cargo, query)
            .await
            .unwrap();
        assert_eq!(answer.status, 422, "{query}: {answer}");
    }
    let many = vec!["x"; 1001];
    for (body, status) in [
        (json!([]), 422),
        (json!({"cargo_ids": []}), 422),
        (json!({"cargo_ids": [cargo], "wait": -1}), 422),
        (json!({"cargo_ids": many}), 413),
        (json!({"cargo_ids": ["x".repeat(300_000)]}), 413),
    ] {
        let answer = start_wait(&service, &customer, &body).await.unwrap();
        assert_eq!(answer.status, status, "{answer}");
    }
    let unknown = format!("{}0", cargo.trim_end_matches(char::is_alphanumeric));
    let answer = start_poll(&service, &customer, &unknown, "wait=50").await;
    assert_eq!(answer.unwrap().status, 404);
}

#[tokio::test]
async fn sweep_deletes_entries_of_the_feed_after_a_minute() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    service.load(&customer, &chat_request("Hi.", None)).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let count = async |service: &TestService| {
        let count = sqlx::query_scalar::<_, i64>("select count(*) from shard.feed");
        count.fetch_one(&service.north.pool).await.unwrap()
    };
    let now = service.now();
    service.worker_sets[0].sweep.step(now).await.unwrap();
    assert_eq!(count(&service).await, 1);
    let older = sqlx::raw_sql("update shard.feed set at = at - interval '61 seconds'");
    older.execute(&service.north.pool).await.unwrap();
    let now = service.clock.advance(MOCK_DELAY);
    service.worker_sets[0].sweep.step(now).await.unwrap();
    assert_eq!(count(&service).await, 0);
}

/// Long-polls that are answered at the same time share a statement.
#[tokio::test]
async fn records_that_are_read_together_are_those_that_are_read_alone() {
    let mut service = TestService::with_prices().await;
    let receiver = CallbackReceiver::new().await;
    receiver.queue_statuses([500]);
    let first = service.create_customer_on("north").await;
    let second = service.create_customer_on("north").await;
    let mut all = Vec::new();
    for customer in [&first, &second] {
        service.add_credit(customer, Money(1_000_000_000)).await;
        let failing = model_chat_request("priced-failing", "fails", 16);
        let called = chat_request("called back", Some(receiver.url()));
        for body in [
            called,
            failing,
            model_chat_request("priced", "a question", 16),
        ] {
            all.push((customer, service.load(customer, &body).await));
        }
        service.run_until_idle().await;
        service.clock.advance(MOCK_DELAY);
        service.run_until_idle().await;
        // It waits, with a key and metadata of its own.
        let mut body = chat_request("waits", None);
        body["metadata"] = json!({"order": 7});
        all.push((customer, service.load(customer, &body).await));
    }
    let ids: Vec<CargoId> = all.iter().map(|(_, id)| id.parse().unwrap()).collect();
    let together = tracking::find_many(&service.north, &ids).await.unwrap();
    assert_eq!(together.len(), all.len());
    for found in together {
        let alone = tracking::find(&service.north, found.project, found.cargo).await;
        let alone = alone.unwrap().unwrap();
        assert_eq!(format!("{:?}", found.record), format!("{alone:?}"));
    }
    let polls = all.iter().map(|(customer, cargo)| {
        let poll = start_poll(&service, customer, cargo, "wait=1");
        async { poll.await.unwrap().body }
    });
    let answers = join_all(polls).await;
    for ((customer, cargo), answer) in all.iter().zip(answers) {
        assert_eq!(answer, service.track(customer, cargo).await);
    }
    // Another project's request for the same cargo at the same time learns nothing.
    let (_, cargo) = &all[3];
    let poll = |customer| start_poll(&service, customer, cargo, "wait=1");
    let (stranger, owner) = tokio::join!(poll(&second), poll(&first));
    assert_eq!(stranger.unwrap().status, 404);
    assert_eq!(owner.unwrap().status, 200);
}
