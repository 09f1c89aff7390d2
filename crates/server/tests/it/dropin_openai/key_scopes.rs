//! Scopes of API keys: what a key may not load is not loaded in this format either.

use axum::body::Body;
use axum::http::Request;
use domain::forwarded_for::ClientAddress;
use domain::key_scope::{KeyRight, KeyScope, parse_address_range};
use domain::money::Money;
use serde_json::json;

use super::{
    CHAT, call, call_with, create, field, file_part, find, finish_all, id_of, line, lines_of,
    unpack_all, upload,
};
use crate::support::TestService;
use crate::support::credit::ONE_DOLLAR;

/// What one line of `priced` holds.
async fn hold_of_a_line(service: &TestService) -> Money {
    let other = service.create_customer().await;
    service.add_credit(&other, ONE_DOLLAR).await;
    id_of(&create(service, &other, &[line("a", "priced")]).await);
    unpack_all(service).await;
    let held = service.read_account(&other).await.held;
    assert!(held > Money::ZERO);
    held
}

/// A key of the customer with this monthly cap. The customer has credit.
#[tokio::test]
async fn a_route_needs_its_right() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = line("a", "svc-mock").to_string();
    let parts = [field("purpose", "batch"), file_part(&lines)];
    let file = id_of(&upload(&service, &customer, &parts).await);
    let batch = json!({"input_file_id": file, "endpoint": CHAT, "completion_window": "24h"});
    let id = id_of(&call_with(&service, &customer, "POST", "/batches", &batch, &[]).await);
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
    for (key, method, path) in [
        (&read_only, "POST", "/batches".to_owned()),
        (&read_only, "POST", format!("/batches/{id}/cancel")),
        (&read_only, "DELETE", format!("/files/{file}")),
        (&load_only, "GET", format!("/batches/{id}")),
        (&load_only, "GET", format!("/files/{file}/content")),
        (&load_only, "GET", "/models".to_owned()),
    ] {
        let refused = call_with(&service, key, method, &path, &batch, &[]).await;
        assert_eq!(refused.status, 403, "{method} {path}: {refused}");
        let code = &refused.body["error"]["code"];
        assert_eq!(code, "key_right_missing", "{method} {path}");
    }
    let refused = upload(&service, &read_only, &parts).await;
    assert_eq!(refused.status, 403, "{refused}");
    let open = find(&service, &read_only, &id).await;
    assert_eq!(open["cancelling_at"], json!(null), "{open}");
    id_of(&upload(&service, &load_only, &parts).await);
}

#[tokio::test]
async fn a_batch_comes_from_an_address_of_its_key() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = line("a", "svc-mock").to_string();
    let parts = [field("purpose", "batch"), file_part(&lines)];
    let file = id_of(&upload(&service, &customer, &parts).await);
    let scope = KeyScope {
        addresses: Some(vec![parse_address_range("192.0.2.0/24").unwrap()]),
        ..KeyScope::default()
    };
    let scoped = service.create_key(&customer, scope).await;
    let batch = json!({"input_file_id": file, "endpoint": CHAT, "completion_window": "24h"});
    let create_from = async |address: &str| {
        let request = Request::post("/openai/v1/batches")
            .header("authorization", format!("Bearer {}", scoped.key))
            .extension(ClientAddress(address.parse().unwrap()));
        let request = request.body(Body::from(batch.to_string())).unwrap();
        service.send(request).await
    };
    let refused = create_from("198.51.100.7").await;
    assert_eq!(refused.status, 403, "{refused}");
    let code = &refused.body["error"]["code"];
    assert_eq!(code, "key_address_not_allowed");
    let id = id_of(&create_from("192.0.2.7").await);
    // Without a connection there is no address.
    assert_eq!(upload(&service, &scoped, &parts).await.status, 403);
    // The unpacker loads the lines without one: the address was checked when the batch was created.
    finish_all(&mut service).await;
    let ended = find(&service, &customer, &id).await;
    assert_eq!(ended["request_counts"]["completed"], 1, "{ended}");
}

#[tokio::test]
async fn a_line_of_another_model_fails_alone() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let scope = KeyScope {
        models: Some(vec!["svc-mock".to_owned()]),
        ..KeyScope::default()
    };
    let scoped = service.create_key(&customer, scope).await;
    let lines = [line("a", "small"), line("b", "svc-mock")];
    let id = id_of(&create(&service, &scoped, &lines).await);
    finish_all(&mut service).await;
    let ended = find(&service, &scoped, &id).await;
    let counts = json!({"total": 2, "completed": 1, "failed": 1});
    assert_eq!(ended["request_counts"], counts, "{ended}");
    let errors = lines_of(&service, &scoped, &ended["error_file_id"]).await;
    assert_eq!(errors[0]["custom_id"], "a");
    let message = errors[0]["response"]["body"]["error"]["message"].to_string();
    assert!(
        message.contains("cannot load cargo of this model"),
        "{message}"
    );
}

#[tokio::test]
async fn a_batch_beyond_the_spending_cap_fails_before_anything_is_loaded() {
    let service = TestService::with_prices().await;
    let hold = hold_of_a_line(&service).await.nanos();
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let cap = Money(2 * hold - 1);
    let capped = service.create_capped_key(&customer, cap).await;
    let lines = [line("a", "priced"), line("b", "priced")];
    let id = id_of(&create(&service, &capped, &lines).await);
    unpack_all(&service).await;
    let failed = find(&service, &capped, &id).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    let error = &failed["errors"]["data"][0];
    assert_eq!(error["code"], "insufficient_quota");
    let message = error["message"].to_string();
    assert!(message.contains("spending cap"), "{message}");
    assert_eq!(service.count_stored_cargo(&customer).await, 0);
}

#[tokio::test]
async fn batches_of_a_key_share_its_spending_cap_when_they_are_loaded() {
    let service = TestService::with_prices().await;
    let hold = hold_of_a_line(&service).await.nanos();
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let cap = Money(3 * hold - 1);
    let capped = service.create_capped_key(&customer, cap).await;
    // Each of them fits while nothing is loaded.
    for _ in 0..2 {
        let lines = [line("a", "priced"), line("b", "priced")];
        let id = id_of(&create(&service, &capped, &lines).await);
        let batch = call(&service, &capped, "GET", &format!("/batches/{id}")).await;
        assert_eq!(batch.body["failed_at"], json!(null), "{batch}");
    }
    unpack_all(&service).await;
    assert_eq!(service.count_stored_cargo(&customer).await, 2);
    let account = service.read_account(&customer).await;
    assert_eq!(account.held, Money(2 * hold));
}
