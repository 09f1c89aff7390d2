//! `POST /cargo/bulk`: many loads in one request, each answered as a single load.

use axum::body::Body;
use axum::http::Request;
use axum::http::request::Builder;
use domain::plan_limits::{Backstop, RateLimit};
use serde_json::{Value, json};

use crate::support::http::{AppResponse, chat_request};
use crate::support::test_limits::TestLimits;
use crate::support::{Customer, TestService};

fn bulk_request(customer: &Customer, media_type: &str, key: Option<&str>) -> Builder {
    let request = Request::post("/cargo/bulk")
        .header("X-API-Key", &customer.key)
        .header("Content-Type", media_type);
    match key {
        Some(key) => request.header("Idempotency-Key", key),
        None => request,
    }
}

impl TestService {
    async fn post_bulk_lines(
        &self,
        customer: &Customer,
        key: Option<&str>,
        lines: &[String],
    ) -> AppResponse {
        let request = bulk_request(customer, "application/x-ndjson", key);
        self.send(request.body(Body::from(lines.join("\n"))).unwrap())
            .await
    }

    async fn post_bulk_object(&self, customer: &Customer, items: &[Value]) -> AppResponse {
        let request = bulk_request(customer, "application/json", None);
        let body = json!({ "cargo": items }).to_string();
        self.send(request.body(Body::from(body)).unwrap()).await
    }
}

fn chats(count: usize) -> Vec<Value> {
    (0..count)
        .map(|number| chat_request(&format!("Load {number}."), None))
        .collect()
}

fn to_lines(items: &[Value]) -> Vec<String> {
    items.iter().map(Value::to_string).collect()
}

fn results(answer: &AppResponse) -> &[Value] {
    assert_eq!(answer.status, 200, "{answer}");
    answer.body["results"].as_array().unwrap()
}

fn statuses(answer: &AppResponse) -> Vec<u64> {
    let results = results(answer).iter();
    results.map(|it| it["status"].as_u64().unwrap()).collect()
}

fn cargo_ids(answer: &AppResponse) -> Vec<String> {
    let ids = results(answer).iter().map(|it| it["cargo_id"].as_str());
    ids.map(|id| id.unwrap().to_owned()).collect()
}

#[tokio::test]
async fn each_item_gets_what_a_single_load_would_get() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut unknown_model = chat_request("Hello.", None);
    unknown_model["params"]["model"] = json!("SVC-MOCK");
    let mut without_tokens = chat_request("Hello.", None);
    without_tokens["params"]["max_tokens"] = Value::Null;
    let lines = [
        chat_request("Hello.", None).to_string(),
        unknown_model.to_string(),
        "{\"params\": }".to_owned(),
        without_tokens.to_string(),
        "[1]".to_owned(),
    ];
    let answer = service.post_bulk_lines(&customer, None, &lines).await;
    assert_eq!(answer.body["accepted"], 1);
    assert_eq!(answer.body["refused"], 4);
    assert_eq!(statuses(&answer), [202, 400, 400, 422, 422]);
    for (index, (line, result)) in lines.iter().zip(results(&answer)).enumerate() {
        assert_eq!(result["index"], index);
        let request = Request::post("/cargo/load").header("X-API-Key", &customer.key);
        let single = request.body(Body::from(line.clone())).unwrap();
        let single = service.send(single).await;
        assert_eq!(result["status"], single.status);
        assert_eq!(result["detail"], single.body["detail"], "{line}");
    }
    let cargo = results(&answer)[0]["cargo_id"].as_str().unwrap();
    assert_eq!(service.status(&customer, cargo).await, "PENDING");
}

#[tokio::test]
async fn a_thousand_items_are_stored_as_lines_or_as_an_object() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let items = chats(1_000);
    let lines = service
        .post_bulk_lines(&customer, None, &to_lines(&items))
        .await;
    let mut ids = cargo_ids(&lines);
    let object = service.post_bulk_object(&customer, &items[..10]).await;
    ids.extend(cargo_ids(&object));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1_010);
    assert_eq!(service.count_stored_cargo(&customer).await, 1_010);
}

#[tokio::test]
async fn more_than_a_thousand_items_are_refused_together() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = to_lines(&chats(1_001));
    let answer = service.post_bulk_lines(&customer, None, &lines).await;
    assert_eq!(answer.status, 413);
    assert_eq!(answer.body["detail"]["error"], "too_many_items");
    assert_eq!(answer.body["detail"]["max_items"], 1_000);
    assert_eq!(service.count_stored_cargo(&customer).await, 0);
}

#[tokio::test]
async fn a_body_that_is_no_bulk_load_is_refused() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    for body in ["", "[]", "{}", "{\"cargo\": {}}"] {
        let request = bulk_request(&customer, "application/json", None);
        let answer = service.send(request.body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.status, 400, "{body}");
    }
    let empty = service.post_bulk_object(&customer, &[]).await;
    assert_eq!(empty.body["accepted"], 0);
}

#[tokio::test]
async fn a_repeated_request_with_a_key_loads_nothing_twice() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = to_lines(&chats(3));
    let first = service
        .post_bulk_lines(&customer, Some("run-1"), &lines)
        .await;
    let again = service
        .post_bulk_lines(&customer, Some("run-1"), &lines)
        .await;
    assert_eq!(cargo_ids(&first), cargo_ids(&again));
    assert!(results(&first).iter().all(|it| it["replay"] == false));
    assert!(results(&again).iter().all(|it| it["replay"] == true));
    // The key of an item is the header's with its index.
    let item: Value = serde_json::from_str(&lines[2]).unwrap();
    let single = service
        .post_load_with_key(&customer, "run-1#2", &item)
        .await;
    assert_eq!(single.headers["idempotent-replay"], "true");
    assert_eq!(single.cargo_id(), cargo_ids(&first)[2]);
    let other = to_lines(&chats(5)[2..]);
    let other = service
        .post_bulk_lines(&customer, Some("run-1"), &other)
        .await;
    assert_eq!(statuses(&other), [409, 409, 409]);
}

#[tokio::test]
async fn an_item_can_have_its_own_key() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut item = chat_request("Once.", None);
    item["idempotency_key"] = json!("order-7");
    item["colour"] = json!("red");
    let first = service.post_bulk_object(&customer, &[item.clone()]).await;
    let again = service.post_bulk_object(&customer, &[item.clone()]).await;
    assert_eq!(cargo_ids(&first), cargo_ids(&again));
    assert_eq!(results(&again)[0]["replay"], true);
    // The key is no unknown field.
    let warnings = results(&first)[0]["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0]["field"], "colour");
    item["idempotency_key"] = json!(7);
    let wrong = service.post_bulk_object(&customer, &[item]).await;
    assert_eq!(statuses(&wrong), [422]);
    assert_eq!(
        results(&wrong)[0]["detail"][0]["loc"],
        json!(["body", "idempotency_key"])
    );
}

#[tokio::test]
async fn the_first_items_get_the_tokens_of_the_plan() {
    let mut limits = TestLimits::default();
    limits.plan_limits.pro.rate = RateLimit {
        burst: 3,
        per_minute: 60,
    };
    let service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let answer = service.post_bulk_object(&customer, &chats(5)).await;
    assert_eq!(statuses(&answer), [202, 202, 202, 429, 429]);
    assert_eq!(answer.headers["ratelimit-remaining"], "0");
    let refused = &results(&answer)[3];
    assert_eq!(refused["detail"]["error"], "rate_limit_exceeded");
    assert_eq!(refused["detail"]["retry_after_seconds"], 1);
    assert_eq!(refused["retry_after_seconds"], 1);
    assert_eq!(service.count_stored_cargo(&customer).await, 3);
}

#[tokio::test]
async fn a_refused_item_costs_no_token() {
    let mut limits = TestLimits::default();
    limits.plan_limits.pro.rate = RateLimit {
        burst: 2,
        per_minute: 60,
    };
    let service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let mut items = chats(4);
    items[0]["params"]["model"] = json!("unknown");
    items[1]["params"] = Value::Null;
    let answer = service.post_bulk_object(&customer, &items).await;
    assert_eq!(statuses(&answer), [400, 422, 202, 202]);
}

#[tokio::test]
async fn the_backstop_counts_a_request_per_hundred_items() {
    let limits = TestLimits {
        backstop: Backstop {
            per_minute: 3,
            per_hour: 1_000,
        },
        ..TestLimits::default()
    };
    let service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let answer = service.post_bulk_object(&customer, &chats(201)).await;
    assert_eq!(answer.body["accepted"], 201);
    let single = service.post_load(&customer, &chats(1)[0]).await;
    assert_eq!(single.status, 429);
    let other = service.create_customer().await;
    let refused = service.post_bulk_object(&other, &chats(301)).await;
    assert_eq!(refused.status, 429);
    assert_eq!(service.count_stored_cargo(&other).await, 0);
}
