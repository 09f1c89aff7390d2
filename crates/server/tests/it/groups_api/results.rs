//! `GET /groups/{group_id}/results`: a resumable stream of lines.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use domain::id::GroupId;
use domain::key_scope::KeyScope;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use store::control::api_key;
use store::control::audit_log::Actor;
use tower::ServiceExt as _;

use super::RawResponse;
use crate::support::{Customer, TestService};

const TEXTS: [&str; 4] = ["one", "two\u{2028}lines", "[mock:fail=storm]", "four"];

const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How many woken requests read at once.
const MAX_CONCURRENT_READS: i64 = 4;

/// A completed group with four cargo, of which the third failed.
async fn completed_group() -> (TestService, Customer, String) {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = service.create_named_group(&customer, "run").await;
    service.load_group_members(&customer, &group, &TEXTS).await;
    let seal = format!("/groups/{group}/seal");
    service.post_to_group(&customer, &seal, &json!({})).await;
    service.complete_all_cargo().await;
    (service, customer, group)
}

fn lines(response: &RawResponse) -> Vec<Value> {
    let text = String::from_utf8_lossy(&response.bytes);
    assert_eq!(response.status, 200, "{text}");
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn values<'a>(lines: &'a [Value], field: &str) -> Vec<&'a Value> {
    lines.iter().map(|line| &line[field]).collect()
}

#[tokio::test]
async fn results_are_lines_in_the_order_of_the_group() {
    let (service, customer, group) = completed_group().await;
    let path = format!("/groups/{group}/results");
    let response = service.fetch_raw(&customer, &path, "identity").await;
    assert_eq!(response.headers["content-type"], "application/x-ndjson");
    // Readers that split at U+2028 see one line, too.
    assert!(
        !response
            .bytes
            .windows(3)
            .any(|it| it == "\u{2028}".as_bytes())
    );
    let lines = lines(&response);
    let expected = json!(["item-0", "item-1", "item-2", "item-3"]);
    assert_eq!(json!(values(&lines, "custom_id")), expected);
    assert_eq!(json!(values(&lines, "position")), json!([0, 1, 2, 3]));
    assert_eq!(lines[1]["response"]["content"][0]["text"], TEXTS[1]);
    assert_eq!(lines[2]["success"], false);
    assert_eq!(lines[2]["error"], "storm");
    assert_eq!(lines[2]["response"], Value::Null);
    assert_eq!(lines[0]["params"], Value::Null);
    let cargo = lines[0]["cargo_id"].as_str().unwrap();
    let record = service.track(&customer, cargo).await;
    assert_eq!(record["response"], lines[0]["response"]);
    assert_eq!(record["completed_at"], lines[0]["completed_at"]);
}

#[tokio::test]
async fn a_download_is_resumed_after_a_position_or_number() {
    let (service, customer, group) = completed_group().await;
    let read = |query: &str| {
        let path = format!("/groups/{group}/results?{query}");
        let (service, customer) = (&service, &customer);
        async move { lines(&service.fetch_raw(customer, &path, "identity").await) }
    };
    let rest = read("after=1").await;
    assert_eq!(json!(values(&rest, "position")), json!([2, 3]));
    let all = read("order=completion").await;
    assert_eq!(json!(values(&all, "number")), json!([1, 2, 3, 4]));
    let rest = read("order=completion&after=3").await;
    assert_eq!(rest, all[3..]);
    assert!(read("order=completion&after=4").await.is_empty());
    // A completed group has no further results to wait for.
    assert_eq!(read("order=completion&after=3&wait=50").await.len(), 1);
    let failed = read("success=false").await;
    assert_eq!(json!(values(&failed, "custom_id")), json!(["item-2"]));
    let with_params = read("include=params&after=2").await;
    let content = &with_params[0]["params"]["messages"][0]["content"];
    assert!(content.to_string().contains("four"), "{content}");
}

#[tokio::test]
async fn a_compressed_download_says_so() {
    let (service, customer, group) = completed_group().await;
    let path = format!("/groups/{group}/results");
    for (accepted, name, magic) in [
        ("gzip, deflate", "gzip", &[0x1f, 0x8b][..]),
        ("gzip, zstd", "zstd", &[0x28, 0xb5, 0x2f, 0xfd]),
    ] {
        let response = service.fetch_raw(&customer, &path, accepted).await;
        assert_eq!(response.headers["content-encoding"], name);
        assert_eq!(response.headers["vary"], "accept-encoding");
        assert!(response.bytes.starts_with(magic), "{name}");
    }
}

#[tokio::test]
async fn only_completed_cargo_has_a_result() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = service.create_named_group(&customer, "run").await;
    service
        .load_group_members(&customer, &group, &["one"])
        .await;
    for order in ["position", "completion"] {
        let path = format!("/groups/{group}/results?order={order}");
        let response = service.fetch_raw(&customer, &path, "identity").await;
        assert!(lines(&response).is_empty());
    }
    service.complete_all_cargo().await;
    let path = format!("/groups/{group}/results");
    let response = service.fetch_raw(&customer, &path, "identity").await;
    assert_eq!(lines(&response).len(), 1);
}

#[tokio::test]
async fn a_stream_is_cut_off_when_its_key_is_deactivated() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let other = service.create_key(&customer, KeyScope::default()).await;
    let group = service.create_named_group(&customer, "run").await;
    service
        .load_group_members(&customer, &group, &["one"])
        .await;
    let request = Request::get(format!("/groups/{group}/results?order=completion&wait=50"));
    let request = request.header("X-API-Key", &other.key);
    let request = request.body(Body::empty()).unwrap();
    let answer = service.router.clone().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    let (control, actor) = (&service.control, Actor::console());
    let deactivated = api_key::deactivate(control, other.key_id, &actor, service.now()).await;
    deactivated.unwrap();
    service.app.refresh_keys().await;
    let reading = tokio::spawn(answer.into_body().collect());
    service.complete_all_cargo().await;
    assert!(reading.await.unwrap().is_err());
}

#[tokio::test]
async fn a_stream_sends_results_as_they_arrive_until_the_group_is_completed() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = service.create_named_group(&customer, "run").await;
    service
        .load_group_members(&customer, &group, &["one", "two"])
        .await;
    let seal = format!("/groups/{group}/seal");
    service.post_to_group(&customer, &seal, &json!({})).await;
    let request = Request::get(format!("/groups/{group}/results?order=completion&wait=50"));
    let request = request.header("X-API-Key", &customer.key);
    let request = request.body(Body::empty()).unwrap();
    let router = service.router.clone();
    let streaming = tokio::spawn(async move {
        let answer = tower::ServiceExt::oneshot(router, request).await.unwrap();
        let body = answer.into_body();
        http_body_util::BodyExt::collect(body)
            .await
            .unwrap()
            .to_bytes()
    });
    service.complete_all_cargo().await;
    let bytes = streaming.await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
}

/// Wakes the requests that wait for this group.
async fn append_feed_entry(service: &TestService, group: &str) {
    let group: GroupId = group.parse().unwrap();
    let entry = "insert into shard.feed (at, cargo, group_id)
        values (clock_timestamp(), array[]::uuid[], array[$1]) returning id";
    let entry = sqlx::query_scalar::<_, i64>(entry).bind(group.uuid());
    entry.fetch_one(&service.north.pool).await.unwrap();
}

/// How many sessions wait for the lock of another.
async fn count_blocked(service: &TestService) -> i64 {
    let blocked = "select count(*) from pg_stat_activity
                   where datname = current_database() and wait_event_type = 'Lock'";
    let blocked = sqlx::query_scalar::<_, i64>(blocked);
    blocked.fetch_one(&service.north.pool).await.unwrap()
}

#[tokio::test]
async fn streams_that_are_woken_together_read_a_few_at_a_time() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = service.create_named_group(&customer, "run").await;
    let path = format!("/groups/{group}/results?order=completion&wait=50");
    let mut streams = Vec::new();
    for _ in 0..6 {
        let request = axum::http::Request::get(&path).header("X-API-Key", &customer.key);
        let request = request.body(axum::body::Body::empty()).unwrap();
        let answer = tower::ServiceExt::oneshot(service.router.clone(), request).await;
        let body = answer.unwrap().into_body();
        streams.push(tokio::spawn(http_body_util::BodyExt::collect(body)));
    }
    let mut blocker = service.north.begin().await.unwrap();
    let lock = sqlx::raw_sql("lock table shard.cargo_group in access exclusive mode");
    lock.execute(&mut *blocker).await.unwrap();
    append_feed_entry(&service, &group).await;
    while count_blocked(&service).await < MAX_CONCURRENT_READS {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    // All streams were woken at the same time.
    for _ in 0..20 {
        assert!(count_blocked(&service).await <= MAX_CONCURRENT_READS);
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    blocker.rollback().await.unwrap();
    for stream in streams {
        stream.abort();
    }
}

#[tokio::test]
async fn h6_one_project_has_its_share_of_result_streams() {
    const MAX_STREAMS_PER_PROJECT: usize = 32;
    let (service, customer, group) = completed_group().await;
    let path = format!("/groups/{group}/results");
    let open = async || {
        let request = Request::get(&path).header("X-API-Key", &customer.key);
        let request = request.body(Body::empty()).unwrap();
        service.router.clone().oneshot(request).await.unwrap()
    };
    // Nothing is read from them, as by a client that stops reading.
    let mut streams = Vec::new();
    for _ in 0..MAX_STREAMS_PER_PROJECT {
        let stream = open().await;
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    let refused = service.get(&customer, &path).await;
    assert_eq!(refused.headers["retry-after"], "1");
    insta::assert_snapshot!(refused, @r#"
    429 {
      "detail": "Too many streams of results are being sent at the same time. Try again when one has ended."
    }
    "#);
    // Other projects, and other routes of this one, go on.
    let record = service.get(&customer, &format!("/groups/{group}")).await;
    assert_eq!(record.status, 200);
    let sibling = service.create_sibling_project(&customer).await;
    let other = service.create_named_group(&sibling, "run").await;
    let other = format!("/groups/{other}/results");
    assert_eq!(service.get(&sibling, &other).await.status, 200);
    // A stream that was read to its end, or whose client is gone, makes room for one more.
    let ended = streams.pop().unwrap().into_body().collect().await.unwrap();
    assert!(!ended.to_bytes().is_empty());
    drop(streams.pop());
    let stream = open().await;
    assert_eq!(stream.status(), 200);
    let response = service.fetch_raw(&customer, &path, "identity").await;
    assert_eq!(lines(&response).len(), TEXTS.len());
}
