//! Scopes of API keys: what a key may not load is not loaded in this format either.

use axum::body::Body;
use axum::http::Request;
use domain::forwarded_for::ClientAddress;
use domain::key_scope::{KeyRight, KeyScope, parse_address_range};
use domain::money::Money;
use serde_json::{Value, json};

use super::{BATCHES, id_of, item};
use crate::support::TestService;
use crate::support::credit::ONE_DOLLAR;

/// A batch of items of these models.
fn batch(models: &[&str]) -> Value {
    let items = models.iter().enumerate();
    let items: Vec<Value> = items
        .map(|(place, model)| item(&place.to_string(), model))
        .collect();
    json!({"requests": items})
}

/// What one item of `priced` holds.
async fn hold_of_an_item(service: &TestService) -> Money {
    let other = service.create_customer().await;
    service.add_credit(&other, ONE_DOLLAR).await;
    id_of(&service.create_batch(&other, &batch(&["priced"])).await);
    service.unpack().await;
    let held = service.read_account(&other).await.held;
    assert!(held > Money::ZERO);
    held
}

/// A key of the customer with this monthly cap. The customer has credit.
#[tokio::test]
async fn a_route_needs_its_right() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let body = batch(&["svc-mock"]);
    let id = id_of(&service.create_batch(&customer, &body).await);
    let read_only = KeyScope {
        rights: Some(vec![KeyRight::Read, KeyRight::Files]),
        ..KeyScope::default()
    };
    let load_only = KeyScope {
        rights: Some(vec![KeyRight::Load]),
        ..KeyScope::default()
    };
    let read_only = service.create_key(&customer, read_only).await;
    let load_only = service.create_key(&customer, load_only).await;
    let refused = service.create_batch(&read_only, &body).await;
    assert_eq!(refused.status, 403, "{refused}");
    assert_eq!(refused.body["error"]["type"], "permission_error");
    for (key, method, path) in [
        (&read_only, "POST", format!("{id}/cancel")),
        (&read_only, "DELETE", id.clone()),
        (&load_only, "GET", id.clone()),
        (&load_only, "GET", format!("{id}/results")),
    ] {
        let refused = service.act_on_batch(key, method, &path).await;
        assert_eq!(refused.status, 403, "{method} {path}: {refused}");
        let kind = &refused.body["error"]["type"];
        assert_eq!(kind, "permission_error", "{method} {path}");
    }
    let models = service.get(&load_only, "/anthropic/v1/models").await;
    assert_eq!(models.status, 403, "{models}");
    let open = service.find_batch(&read_only, &id).await;
    assert_eq!(open["cancel_initiated_at"], Value::Null, "{open}");
    id_of(&service.create_batch(&load_only, &body).await);
}

#[tokio::test]
async fn a_batch_comes_from_an_address_of_its_key() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let scope = KeyScope {
        addresses: Some(vec![parse_address_range("192.0.2.0/24").unwrap()]),
        ..KeyScope::default()
    };
    let scoped = service.create_key(&customer, scope).await;
    let body = batch(&["svc-mock"]).to_string();
    let create_from = async |address: &str| {
        let request = Request::post(BATCHES)
            .header("x-api-key", &scoped.key)
            .extension(ClientAddress(address.parse().unwrap()));
        let request = request.body(Body::from(body.clone())).unwrap();
        service.send(request).await
    };
    let refused = create_from("198.51.100.7").await;
    assert_eq!(refused.status, 403, "{refused}");
    assert_eq!(refused.body["error"]["type"], "permission_error");
    let message = refused.body["error"]["message"].to_string();
    assert!(message.contains("198.51.100.7"), "{message}");
    let id = id_of(&create_from("192.0.2.7").await);
    // The unpacker loads the items without one: the address was checked when the batch was created.
    service.finish_batches().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["request_counts"]["succeeded"], 1, "{ended}");
    let listed = service.get(&customer, BATCHES).await;
    assert_eq!(listed.body["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_item_of_another_model_fails_alone() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let scope = KeyScope {
        models: Some(vec!["svc-mock".to_owned()]),
        ..KeyScope::default()
    };
    let scoped = service.create_key(&customer, scope).await;
    let body = batch(&["small", "svc-mock"]);
    let id = id_of(&service.create_batch(&scoped, &body).await);
    service.finish_batches().await;
    let results = service.batch_results(&scoped, &id).await;
    assert_eq!(results[1]["result"]["type"], "succeeded", "{results:?}");
    assert_eq!(results[0]["result"]["type"], "errored", "{results:?}");
    let message = results[0]["result"]["error"]["error"]["message"].to_string();
    assert!(
        message.contains("cannot load cargo of this model"),
        "{message}"
    );
}

#[tokio::test]
async fn a_batch_beyond_the_spending_cap_is_refused() {
    let service = TestService::with_prices().await;
    let hold = hold_of_an_item(&service).await.nanos();
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let cap = Money(2 * hold - 1);
    let capped = service.create_capped_key(&customer, cap).await;
    let refused = service
        .create_batch(&capped, &batch(&["priced", "priced"]))
        .await;
    assert_eq!(refused.status, 402, "{refused}");
    assert_eq!(refused.body["error"]["type"], "billing_error");
    assert_eq!(refused.headers["x-should-retry"], "false");
    let message = refused.body["error"]["message"].to_string();
    assert!(message.contains("spending cap"), "{message}");
    assert_eq!(service.count_stored_cargo(&customer).await, 0);
}

#[tokio::test]
async fn batches_of_a_key_share_its_spending_cap_when_they_are_loaded() {
    let service = TestService::with_prices().await;
    let hold = hold_of_an_item(&service).await.nanos();
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let cap = Money(3 * hold - 1);
    let capped = service.create_capped_key(&customer, cap).await;
    // Each of them fits while nothing is loaded.
    for _ in 0..2 {
        let body = batch(&["priced", "priced"]);
        id_of(&service.create_batch(&capped, &body).await);
    }
    service.unpack().await;
    assert_eq!(service.count_stored_cargo(&customer).await, 2);
    let account = service.read_account(&customer).await;
    assert_eq!(account.held, Money(2 * hold));
}
