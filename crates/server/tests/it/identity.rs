//! `GET /models` and `GET /whoami`: what a key may use.

use std::time::Duration;

use domain::features::{Features, ToolSupport};
use domain::key_scope::{KeyRight, KeyScope};
use domain::key_spending::SpendingCap;
use domain::model::{Capability, Model, ModelKind, Prices};
use domain::money::Money;
use domain::organization::Plan;
use domain::price::Price;
use domain::route::{InferenceMode, Route, Routes};
use domain::time::to_wire;
use serde_json::{Value, json};
use store::control::audit_log::Actor;
use store::control::key_policy;

use crate::support::TestService;
use crate::support::credit::{ONE_DOLLAR, model_chat_request};

#[tokio::test]
async fn models_have_the_features_limits_and_prices_of_the_catalogue() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let route = |via| Route::plain("mock", "large", via);
    let mut features = Features {
        tools: ToolSupport::Parallel,
        max_tools: 128,
        seed: true,
        ..Features::plain()
    };
    features.thinking.budget = Some((1024, 8192));
    service.add_model(Model {
        capabilities: vec![Capability::Vision, Capability::Video],
        context: Some(128_000),
        max_output: Some(16_384),
        routes: Routes::new(
            route(InferenceMode::Realtime),
            vec![route(InferenceMode::Batch)],
        ),
        prices: Some(Prices {
            batch: Price::flat(Money(75_000_000), Money(300_000_000)),
            realtime: Some(Price::flat(Money(150_000_000), Money(600_000_000))),
        }),
        features,
        retires_at: "2027-01-14".parse().ok(),
        ..Model::plain("large", "mock", ModelKind::Chat)
    });
    let answer = service.get(&customer, "/models").await;
    assert_eq!(answer.status, 200, "{answer}");
    let models = answer.body["models"].as_array().unwrap();
    let ids: Vec<_> = models.iter().map(|it| it["id"].as_str().unwrap()).collect();
    let expected = ["failing", "large", "small", "svc-mock", "vectors", "vision"];
    assert_eq!(ids, expected);
    let large = &models[1];
    assert_eq!(large["kind"], "chat");
    assert_eq!(large["capabilities"], json!(["vision", "video"]));
    assert_eq!(large["via"], json!(["batch", "realtime"]));
    let limits = json!({"context": 128_000, "max_output": 16_384});
    assert_eq!(large["limits"], limits);
    assert_eq!(large["price"]["batch"]["input"], 75_000_000);
    assert_eq!(large["price"]["batch"]["output"], 300_000_000);
    assert_eq!(large["price"]["realtime"]["input"], 150_000_000);
    assert_eq!(large["price"]["per_tokens"], 1_000_000);
    assert_eq!(large["features"]["tools"], "parallel");
    assert_eq!(large["features"]["seed"], true);
    let thinking = &large["features"]["thinking"];
    assert_eq!(thinking["types"], json!(["enabled"]));
    let budget = json!({"min": 1024, "max": 8192});
    assert_eq!(thinking["budget_tokens"], budget);
    assert_eq!(large["embedding"], Value::Null);
    assert_eq!(large["retires_at"], "2027-01-14");
    // A free embedding model.
    let vectors = &models[4];
    assert_eq!(vectors["price"], Value::Null);
    assert_eq!(vectors["features"], Value::Null);
    let embedding = json!({"max_inputs": null, "dimensions": null, "input_type": false});
    assert_eq!(vectors["embedding"], embedding);
}

#[tokio::test]
async fn a_key_sees_the_models_that_it_may_load() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let scope = KeyScope {
        models: Some(vec!["svc-mock".to_owned()]),
        ..KeyScope::default()
    };
    let scoped = service.create_key(&customer, scope).await;
    let answer = service.get(&scoped, "/models").await;
    let models = answer.body["models"].as_array().unwrap();
    assert_eq!(models.len(), 1);
    assert_eq!(models[0]["id"], "svc-mock");
}

#[tokio::test]
async fn a_key_learns_its_project_plan_and_balance() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer_with_plan(Plan::Starter).await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    service.set_monthly_tokens(&customer, 1_000_000).await;
    let body = model_chat_request("priced", "Hello.", 64);
    let cargo = service.load(&customer, &body).await;
    let held = service.track(&customer, &cargo).await["cost"]["held"].take();
    let answer = service.get(&customer, "/whoami").await;
    assert_eq!(answer.status, 200, "{answer}");
    let me = answer.body;
    assert_eq!(me["key"]["id"], customer.key_id.to_string());
    assert_eq!(me["key"]["name"], "test");
    assert_eq!(me["key"]["prefix"], customer.key[..12]);
    assert_eq!(me["key"]["rights"], json!(["load", "read", "files"]));
    for unrestricted in ["expires_at", "models", "addresses", "spending_cap"] {
        assert_eq!(me["key"][unrestricted], Value::Null, "{unrestricted}");
    }
    assert_eq!(me["project"]["id"], customer.project.to_string());
    assert_eq!(me["organization"]["name"], "Test");
    assert_eq!(me["organization"]["plan"], "starter");
    assert_eq!(me["tokens"]["monthly"], 1_000_000);
    assert!(me["tokens"]["reserved"].as_u64().unwrap() > 0);
    assert_eq!(me["balance"]["held"], held);
    let available = me["balance"]["available"].as_u64().unwrap();
    assert_eq!(available + held.as_u64().unwrap(), 1_000_000_000);
    // Nothing in it is the key.
    assert!(!me.to_string().contains(&customer.key));
}

#[tokio::test]
async fn a_key_learns_its_scope_expiry_and_cap() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let days = Some(30);
    let (by, now) = (Actor::console(), service.now());
    key_policy::set_max_key_days(&service.control, customer.organization, days, &by, now)
        .await
        .unwrap();
    let scope = KeyScope {
        rights: Some(vec![KeyRight::Load, KeyRight::Read]),
        models: Some(vec!["priced".to_owned()]),
        addresses: None,
        spending_cap: Some(SpendingCap {
            key: customer.key_id,
            monthly: Money(5_000_000_000),
        }),
    };
    let scoped = service.create_key(&customer, scope).await;
    let body = model_chat_request("priced", "Hello.", 64);
    let cargo = service.load(&scoped, &body).await;
    let held = service.track(&scoped, &cargo).await["cost"]["held"].take();
    let me = service.get(&scoped, "/whoami").await.body;
    assert_eq!(me["key"]["rights"], json!(["load", "read"]));
    assert_eq!(me["key"]["models"], json!(["priced"]));
    let expires_at = service.now() + Duration::from_hours(24 * 30);
    assert_eq!(me["key"]["expires_at"], to_wire(expires_at));
    let cap = &me["key"]["spending_cap"];
    assert_eq!(cap["monthly"], 5_000_000_000_u64);
    assert_eq!(cap["held"], held);
    assert_eq!(cap["spent"], 0);
    assert_eq!(cap["resets_at"], me["tokens"]["resets_at"]);
}

#[tokio::test]
async fn whoami_needs_the_right_to_read_and_is_limited() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let scope = KeyScope {
        rights: Some(vec![KeyRight::Load]),
        ..KeyScope::default()
    };
    let loader = service.create_key(&customer, scope).await;
    for path in ["/whoami", "/models", "/cargo"] {
        assert_eq!(service.get(&loader, path).await.status, 403, "{path}");
    }
    for _ in 0..60 {
        assert_eq!(service.get(&customer, "/whoami").await.status, 200);
    }
    let refused = service.get(&customer, "/whoami").await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.headers["retry-after"], "1");
    // Other reads go on.
    assert_eq!(service.get(&customer, "/models").await.status, 200);
}
