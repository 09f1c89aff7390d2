//! Scopes of API keys: each right, address and model that a key does not have is refused.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use domain::forwarded_for::ClientAddress;
use domain::key_scope::{KeyRight, KeyScope, parse_address_range};
use store::control::audit_log::Actor;
use store::control::{api_key, key_policy};

use crate::support::credit::model_chat_request;
use crate::support::http::{AppResponse, chat_request};
use crate::support::{Customer, TestService};

mod batch_loads;

/// Lists files from this address.
async fn list_files_from(service: &TestService, customer: &Customer, address: &str) -> AppResponse {
    let request = Request::get("/files")
        .header("X-API-Key", &customer.key)
        // Only the listener reads this header.
        .header("X-Forwarded-For", "192.0.2.7")
        .extension(ClientAddress(address.parse().unwrap()));
    service.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_route_needs_its_right() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("Hello.", None)).await;
    let tracking = format!("/cargo/{cargo}/tracking");
    for (right, statuses) in [
        (KeyRight::Load, [202, 403, 403]),
        (KeyRight::Read, [403, 200, 403]),
        (KeyRight::Files, [403, 403, 200]),
    ] {
        let scope = KeyScope {
            rights: Some(vec![right]),
            ..KeyScope::default()
        };
        let scoped = service.create_key(&customer, scope).await;
        let answers = [
            service
                .post_load(&scoped, &chat_request("Hello.", None))
                .await,
            service.get(&scoped, &tracking).await,
            service.get(&scoped, "/files").await,
        ];
        assert_eq!(answers.each_ref().map(|it| it.status), statuses);
        for answer in answers.iter().filter(|it| it.status == 403) {
            assert_eq!(answer.body["detail"]["error"], "key_right_missing");
        }
        // A path without a file of the caller is refused in the same shape.
        let file = service.get(&scoped, "/files/nonsense").await;
        assert_eq!(
            file.status,
            if right == KeyRight::Files { 404 } else { 403 }
        );
    }
}

#[tokio::test]
async fn every_files_route_needs_the_right_to_files() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let scope = KeyScope {
        rights: Some(vec![KeyRight::Load, KeyRight::Read]),
        ..KeyScope::default()
    };
    let scoped = service.create_key(&customer, scope).await;
    let file = format!("/files/file_{}", "0".repeat(32));
    for (method, path) in [
        ("POST", "/files".to_owned()),
        ("GET", "/files".to_owned()),
        ("GET", file.clone()),
        ("PATCH", file.clone()),
        ("DELETE", file.clone()),
        ("POST", format!("{file}/complete")),
        ("POST", format!("{file}/parts")),
        ("GET", format!("{file}/content")),
    ] {
        let request = Request::builder().method(method).uri(path.as_str());
        let request = request.header("X-API-Key", &scoped.key);
        let refused = service.send(request.body(Body::from("{}")).unwrap()).await;
        assert_eq!(refused.status, 403, "{method} {path}");
        assert_eq!(refused.body["detail"]["error"], "key_right_missing");
        assert_eq!(refused.body["detail"]["right"], "files");
    }
}

#[tokio::test]
async fn a_load_without_the_right_is_refused_in_the_shape_of_the_contract() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let scope = KeyScope {
        rights: Some(vec![KeyRight::Read, KeyRight::Files]),
        ..KeyScope::default()
    };
    let scoped = service.create_key(&customer, scope).await;
    let refused = service
        .post_load(&scoped, &chat_request("Hello.", None))
        .await;
    insta::assert_snapshot!(refused, @r#"
    403 {
      "detail": {
        "error": "key_right_missing",
        "message": "This API key does not have the right `load`, which this route needs. Use another key.",
        "right": "load"
      }
    }
    "#);
    assert_eq!(service.count_stored_cargo(&customer).await, 0);
}

#[tokio::test]
async fn a_key_loads_only_its_models() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let scope = KeyScope {
        models: Some(vec!["svc-mock".to_owned()]),
        ..KeyScope::default()
    };
    let scoped = service.create_key(&customer, scope).await;
    service
        .load(&scoped, &model_chat_request("svc-mock", "Hello.", 64))
        .await;
    let refused = service
        .post_load(&scoped, &model_chat_request("small", "Hello.", 10))
        .await;
    insta::assert_snapshot!(refused, @r#"
    403 {
      "detail": {
        "error": "key_model_not_allowed",
        "message": "This API key cannot load cargo of this model. Use an allowed model, or another key.",
        "allowed_models": [
          "svc-mock"
        ]
      }
    }
    "#);
    let unknown = service
        .post_load(&scoped, &model_chat_request("no-such", "Hello.", 64))
        .await;
    assert_eq!(unknown.body["detail"]["error"], "invalid_model");
}

#[tokio::test]
async fn a_key_is_used_only_from_its_addresses() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let scope = KeyScope {
        addresses: Some(vec![parse_address_range("192.0.2.0/24").unwrap()]),
        ..KeyScope::default()
    };
    let scoped = service.create_key(&customer, scope).await;
    let refused = list_files_from(&service, &scoped, "198.51.100.7").await;
    insta::assert_snapshot!(refused, @r#"
    403 {
      "detail": {
        "error": "key_address_not_allowed",
        "message": "This API key cannot be used from your address, 198.51.100.7. Use it from an allowed address, or use another key.",
        "address": "198.51.100.7"
      }
    }
    "#);
    let answer = list_files_from(&service, &scoped, "192.0.2.7").await;
    assert_eq!(answer.status, 200, "{answer}");
    // Without a connection there is no address.
    assert_eq!(service.get(&scoped, "/files").await.status, 403);
}

#[tokio::test]
async fn the_address_of_the_last_use_is_recorded() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    for expected in ["192.0.2.7", "2001:db8::7"] {
        service.clock.advance(Duration::from_secs(1));
        let answer = list_files_from(&service, &customer, expected).await;
        assert_eq!(answer.status, 200);
        let began = Instant::now();
        // The background task may be writing the use just now.
        loop {
            service.app.flush().await;
            let key = api_key::find(&service.control, customer.key_id).await;
            if key.unwrap().unwrap().last_used_address.as_deref() == Some(expected) {
                break;
            }
            assert!(began.elapsed() < Duration::from_mins(1), "{expected}");
        }
    }
}

#[tokio::test]
async fn a_key_beyond_the_longest_lifetime_of_its_organization_has_expired() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    service.load(&customer, &chat_request("Hello.", None)).await;
    let by = Actor::console();
    let now = service.clock.advance(Duration::from_hours(24 * 8));
    let organization = customer.organization;
    for (days, status) in [(9, 202), (7, 401)] {
        key_policy::set_max_key_days(&service.control, organization, Some(days), &by, now)
            .await
            .unwrap();
        service.app.refresh_keys().await;
        let answer = service
            .post_load(&customer, &chat_request("Hello.", None))
            .await;
        assert_eq!(answer.status, status, "{answer}");
    }
}
