//! Scopes of API keys on `POST /cargo/bulk` and on loads into a group.

use axum::body::Body;
use axum::http::Request;
use domain::forwarded_for::ClientAddress;
use domain::key_scope::{KeyRight, KeyScope, parse_address_range};
use domain::money::Money;
use serde_json::{Value, json};
use store::shard::ledger_audit;

use crate::support::credit::{ONE_DOLLAR, model_chat_request};
use crate::support::http::AppResponse;
use crate::support::{Customer, TestService};

const ALLOWED_ADDRESS: &str = "192.0.2.7";
const OTHER_ADDRESS: &str = "198.51.100.7";

fn chat(model: &str) -> Value {
    model_chat_request(model, "Hello.", 10)
}

/// The same load as a member of the group.
fn member(group: &str, model: &str) -> Value {
    let mut load = chat(model);
    load["group_id"] = json!(group);
    load
}

async fn post_from(
    service: &TestService,
    customer: &Customer,
    address: &str,
    path: &str,
    body: &Value,
) -> AppResponse {
    let request = Request::post(path)
        .header("X-API-Key", &customer.key)
        .header("Content-Type", "application/json")
        .extension(ClientAddress(address.parse().unwrap()));
    service
        .send(request.body(Body::from(body.to_string())).unwrap())
        .await
}

async fn post(service: &TestService, customer: &Customer, path: &str, body: &Value) -> AppResponse {
    post_from(service, customer, ALLOWED_ADDRESS, path, body).await
}

async fn post_bulk(service: &TestService, customer: &Customer, models: &[&str]) -> AppResponse {
    let items: Vec<Value> = models.iter().map(|model| chat(model)).collect();
    post(service, customer, "/cargo/bulk", &json!({"cargo": items})).await
}

/// Creates a group with the first key of the project, which may do everything.
async fn create_group(service: &TestService, customer: &Customer) -> String {
    let created = post(service, customer, "/groups", &json!({})).await;
    assert_eq!(created.status, 201, "{created}");
    created.body["group_id"].as_str().unwrap().to_owned()
}

async fn count_members(service: &TestService, customer: &Customer, group: &str) -> Value {
    let record = service.get(customer, &format!("/groups/{group}")).await;
    record.body["counts"]["total"].clone()
}

fn without_load() -> KeyScope {
    KeyScope {
        rights: Some(vec![KeyRight::Read, KeyRight::Files]),
        ..KeyScope::default()
    }
}

fn one_address() -> KeyScope {
    KeyScope {
        addresses: Some(vec![parse_address_range("192.0.2.0/24").unwrap()]),
        ..KeyScope::default()
    }
}

fn one_model() -> KeyScope {
    KeyScope {
        models: Some(vec!["svc-mock".to_owned()]),
        ..KeyScope::default()
    }
}

/// A key whose cap has room for two loads, and a nano-dollar too little for the third. Also what
/// one load holds.
async fn create_key_for_two(service: &TestService, customer: &Customer) -> (Customer, Money) {
    let other = service.create_customer().await;
    service.add_credit(&other, ONE_DOLLAR).await;
    service.load(&other, &chat("priced")).await;
    let hold = service.read_account(&other).await.held;
    assert!(hold > Money::ZERO);
    service.add_credit(customer, ONE_DOLLAR).await;
    let cap = Money(3 * hold.nanos() - 1);
    (service.create_capped_key(customer, cap).await, hold)
}

async fn assert_holds(service: &TestService, customer: &Customer, held: Money) {
    assert_eq!(service.read_account(customer).await.held, held);
    let report = ledger_audit::check_all(&service.north).await.unwrap();
    assert_eq!(report.faults, []);
}

/// The status and the code of a refused item.
fn refusal(item: &Value) -> (u64, &str) {
    let code = item["detail"]["error"].as_str();
    (item["status"].as_u64().unwrap(), code.unwrap())
}

#[tokio::test]
async fn a_bulk_load_needs_the_right_to_load() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let scoped = service.create_key(&customer, without_load()).await;
    let refused = post_bulk(&service, &scoped, &["svc-mock"]).await;
    assert_eq!(refused.status, 403, "{refused}");
    assert_eq!(refused.body["detail"]["error"], "key_right_missing");
    assert_eq!(refused.body["detail"]["right"], "load");
    assert_eq!(service.count_stored_cargo(&customer).await, 0);
}

#[tokio::test]
async fn a_bulk_load_comes_from_an_address_of_its_key() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let scoped = service.create_key(&customer, one_address()).await;
    let body = json!({"cargo": [chat("svc-mock")]});
    let refused = post_from(&service, &scoped, OTHER_ADDRESS, "/cargo/bulk", &body).await;
    assert_eq!(refused.status, 403, "{refused}");
    assert_eq!(refused.body["detail"]["error"], "key_address_not_allowed");
    assert_eq!(service.count_stored_cargo(&customer).await, 0);
    let accepted = post_bulk(&service, &scoped, &["svc-mock"]).await;
    assert_eq!(accepted.body["accepted"], 1, "{accepted}");
}

#[tokio::test]
async fn a_bulk_load_stores_items_of_allowed_models_only() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let scoped = service.create_key(&customer, one_model()).await;
    let answer = post_bulk(&service, &scoped, &["small", "svc-mock", "small"]).await;
    assert_eq!(answer.body["accepted"], 1, "{answer}");
    for index in [0, 2] {
        let item = &answer.body["results"][index];
        assert_eq!(refusal(item), (403, "key_model_not_allowed"));
        assert_eq!(item["detail"]["allowed_models"], json!(["svc-mock"]));
    }
    assert_eq!(service.count_stored_cargo(&customer).await, 1);
}

#[tokio::test]
async fn items_of_a_bulk_load_share_the_spending_cap_of_their_key() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let (capped, hold) = create_key_for_two(&service, &customer).await;
    let answer = post_bulk(&service, &capped, &["priced"; 4]).await;
    assert_eq!(answer.body["accepted"], 2, "{answer}");
    let results = answer.body["results"].as_array().unwrap().iter();
    let refused = results.filter(|item| item["status"] != 202);
    let refused: Vec<_> = refused.map(refusal).collect();
    assert_eq!(refused, [(429, "key_spending_cap_exceeded"); 2]);
    assert_eq!(service.count_stored_cargo(&customer).await, 2);
    assert_holds(&service, &customer, Money(2 * hold.nanos())).await;
}

#[tokio::test]
async fn a_group_and_its_loads_need_the_right_to_load() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer).await;
    let scoped = service.create_key(&customer, without_load()).await;
    for (path, body) in [
        ("/groups".to_owned(), json!({})),
        ("/cargo/load".to_owned(), member(&group, "svc-mock")),
        (format!("/groups/{group}/seal"), json!({})),
        (format!("/groups/{group}/cancel"), json!({})),
    ] {
        let refused = post(&service, &scoped, &path, &body).await;
        assert_eq!(refused.status, 403, "{path}: {refused}");
        assert_eq!(refused.body["detail"]["right"], "load", "{path}");
    }
    let record = service.get(&scoped, &format!("/groups/{group}")).await;
    assert_eq!(record.body["status"], "open", "{record}");
    assert_eq!(record.body["counts"]["total"], 0);
    let load_only = KeyScope {
        rights: Some(vec![KeyRight::Load]),
        ..KeyScope::default()
    };
    let load_only = service.create_key(&customer, load_only).await;
    for path in ["", "/results"] {
        let path = format!("/groups/{group}{path}");
        let refused = service.get(&load_only, &path).await;
        assert_eq!(refused.body["detail"]["right"], "read", "{refused}");
    }
}

#[tokio::test]
async fn a_group_and_its_loads_come_from_an_address_of_their_key() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer).await;
    let scoped = service.create_key(&customer, one_address()).await;
    for (path, body, accepted) in [
        ("/groups".to_owned(), json!({}), 201),
        ("/cargo/load".to_owned(), member(&group, "svc-mock"), 202),
        (format!("/groups/{group}/seal"), json!({}), 200),
    ] {
        let refused = post_from(&service, &scoped, OTHER_ADDRESS, &path, &body).await;
        assert_eq!(refused.status, 403, "{path}: {refused}");
        let code = &refused.body["detail"]["error"];
        assert_eq!(code, "key_address_not_allowed", "{path}");
        let answer = post(&service, &scoped, &path, &body).await;
        assert_eq!(answer.status, accepted, "{path}: {answer}");
    }
    assert_eq!(count_members(&service, &customer, &group).await, 1);
}

#[tokio::test]
async fn a_group_gets_loads_of_allowed_models_only() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer).await;
    let scoped = service.create_key(&customer, one_model()).await;
    let refused = post(&service, &scoped, "/cargo/load", &member(&group, "small")).await;
    assert_eq!(refused.status, 403, "{refused}");
    assert_eq!(refused.body["detail"]["error"], "key_model_not_allowed");
    service.load(&scoped, &member(&group, "svc-mock")).await;
    assert_eq!(count_members(&service, &customer, &group).await, 1);
}

#[tokio::test]
async fn loads_of_a_group_share_the_spending_cap_of_their_key() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer).await;
    let (capped, hold) = create_key_for_two(&service, &customer).await;
    let load = member(&group, "priced");
    service.load(&capped, &load).await;
    service.load(&capped, &load).await;
    let refused = service.post_load(&capped, &load).await;
    assert_eq!(refused.status, 429, "{refused}");
    assert_eq!(refused.body["detail"]["error"], "key_spending_cap_exceeded");
    // A refused load is no member: the group can still be completed.
    assert_eq!(count_members(&service, &customer, &group).await, 2);
    assert_holds(&service, &customer, Money(2 * hold.nanos())).await;
}
