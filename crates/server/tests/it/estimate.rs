//! `POST /cargo/estimate`: checks loads as a load does, stores nothing, and learns from outcomes.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use domain::key_scope::{KeyRight, KeyScope};
use domain::model::{Model, ModelKind, Prices};
use domain::money::Money;
use domain::plan_limits::{Backstop, RateLimit};
use domain::price::Price;
use serde_json::{Value, json};

use crate::support::credit::{ONE_DOLLAR, PRICE, model_chat_request, priced_model};
use crate::support::files::file_chat_request;
use crate::support::http::{AppResponse, chat_request};
use crate::support::test_limits::TestLimits;
use crate::support::{Customer, MOCK_DELAY, TestService};

/// What a load of `hello` holds, and what its outcome costs.
const HOLD_NANOS: i64 = 28_200;
const CHARGE_NANOS: i64 = 1_000;
/// Longer than a profile is cached.
const PROFILE_AGE: Duration = Duration::from_secs(61);

fn hello() -> Value {
    model_chat_request("priced", "Hello.", 64)
}

async fn post_estimate(
    service: &TestService,
    customer: &Customer,
    media_type: &str,
    body: String,
) -> AppResponse {
    let request = Request::post("/cargo/estimate")
        .header("X-API-Key", &customer.key)
        .header("Content-Type", media_type);
    service.send(request.body(Body::from(body)).unwrap()).await
}

/// The answer to a body that can be estimated.
async fn estimate(service: &TestService, customer: &Customer, body: &Value) -> Value {
    let answer = post_estimate(service, customer, "application/json", body.to_string()).await;
    assert_eq!(answer.status, 200, "{answer}");
    answer.body
}

/// Twenty cargo, each with its outcome.
async fn settle_twenty(service: &mut TestService, customer: &Customer) {
    for _ in 0..20 {
        service.load(customer, &hello()).await;
    }
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    service.clock.advance(PROFILE_AGE);
}

async fn count_lanes(service: &TestService) -> i64 {
    sqlx::query_scalar("select count(*) from shard.lane")
        .fetch_one(&service.north.pool)
        .await
        .unwrap()
}

#[tokio::test]
async fn an_estimate_stores_nothing() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let before = (
        count_lanes(&service).await,
        service.describe_account(&customer).await,
    );
    let answer = estimate(&service, &customer, &hello()).await;
    assert_eq!(answer["items"], 1);
    assert_eq!(answer["faults"], json!([]));
    assert_eq!(
        answer["hold"],
        json!({"amount": HOLD_NANOS, "currency": "USD", "scale": 9})
    );
    assert_eq!(
        answer["balance_after_hold"],
        ONE_DOLLAR.nanos() - HOLD_NANOS
    );
    assert_eq!(answer["refused_by"], Value::Null);
    assert_eq!(service.count_stored_cargo(&customer).await, 0);
    let after = (
        count_lanes(&service).await,
        service.describe_account(&customer).await,
    );
    assert_eq!(before, after);
}

#[tokio::test]
async fn without_samples_only_the_bounds_are_stated() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let answer = estimate(&service, &customer, &hello()).await;
    let cost = json!({
        "low": null, "likely": null, "high": null, "most": HOLD_NANOS, "realtime_likely": null,
    });
    assert_eq!(answer["cost"], cost);
    let tokens = json!({
        "input": {"bound": 26, "likely": null},
        "output": {"bound": 64, "p10": null, "p50": null, "p90": null},
    });
    assert_eq!(answer["tokens"], tokens);
    assert_eq!(answer["based_on"], json!({"samples": 0, "since": null}));
    let free = estimate(&service, &customer, &chat_request("Hello.", None)).await;
    let cost = json!({
        "low": 0, "likely": 0, "high": 0, "most": 0, "realtime_likely": null,
    });
    assert_eq!(free["cost"], cost);
}

#[tokio::test]
async fn figures_are_learned_from_outcomes() {
    let mut service = TestService::with_prices().await;
    let realtime = Price::flat(Money(200_000_000), Money(800_000_000));
    service.add_model(Model {
        prices: Some(Prices {
            batch: PRICE,
            realtime: Some(realtime),
        }),
        ..priced_model("priced", ModelKind::Chat, PRICE)
    });
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let loaded_at = service.now();
    settle_twenty(&mut service, &customer).await;
    let body = json!({"cargo": vec![hello(); 100]});
    let answer = estimate(&service, &customer, &body).await;
    assert_eq!(answer["items"], 100);
    assert_eq!(answer["based_on"]["samples"], 20);
    let since = answer["based_on"]["since"].as_str().unwrap();
    assert_eq!(since, domain::time::to_wire(loaded_at));
    // Each answer repeats the text, so all samples are alike: 2 tokens in, 2 tokens out.
    let near = |field: &str, expected: i64| {
        let nanos = answer["cost"][field].as_i64().unwrap();
        assert!((nanos - expected).abs() <= 1, "{field}: {nanos}");
    };
    near("low", 100 * CHARGE_NANOS);
    near("likely", 100 * CHARGE_NANOS);
    near("high", 100 * CHARGE_NANOS);
    near("realtime_likely", 200 * CHARGE_NANOS);
    near("most", 100 * HOLD_NANOS);
    let tokens = json!({
        "input": {"bound": 2600, "likely": 200},
        "output": {"bound": 6400, "p10": 200, "p50": 200, "p90": 200},
    });
    assert_eq!(answer["tokens"], tokens);
}

#[tokio::test]
async fn failed_cargo_and_other_models_are_no_samples() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let failing = model_chat_request("priced-failing", "No.", 64);
    for _ in 0..20 {
        service.load(&customer, &failing).await;
    }
    settle_twenty(&mut service, &customer).await;
    let failed = estimate(&service, &customer, &failing).await;
    assert_eq!(failed["based_on"]["samples"], 0);
    let both = estimate(&service, &customer, &json!({"cargo": [hello(), failing]})).await;
    assert_eq!(both["based_on"]["samples"], 0);
    assert_eq!(both["cost"]["likely"], Value::Null);
}

#[tokio::test]
async fn a_new_project_learns_from_its_organization_only() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    settle_twenty(&mut service, &customer).await;
    let sibling = service.create_sibling_project(&customer).await;
    let answer = estimate(&service, &sibling, &hello()).await;
    assert_eq!(answer["based_on"]["samples"], 20);
    let stranger = service.create_customer().await;
    let answer = estimate(&service, &stranger, &hello()).await;
    assert_eq!(answer["based_on"]["samples"], 0);
}

#[tokio::test]
async fn faults_are_what_a_load_would_answer() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let file = format!("file_{}", "0".repeat(32));
    let mut without_tokens = hello();
    without_tokens["params"]["max_tokens"] = Value::Null;
    let wrong = [
        model_chat_request("PRICED", "Hello.", 64).to_string(),
        "{\"params\": }".to_owned(),
        without_tokens.to_string(),
        file_chat_request("vision", &[("image", &file)]).to_string(),
    ];
    let mut lines = wrong.to_vec();
    lines.insert(1, hello().to_string());
    let body = lines.join("\n");
    let answer = post_estimate(&service, &customer, "application/x-ndjson", body).await;
    assert_eq!(answer.status, 200, "{answer}");
    assert_eq!(answer.body["items"], 5);
    assert_eq!(answer.body["hold"]["amount"], HOLD_NANOS);
    let faults = answer.body["faults"].as_array().unwrap();
    assert_eq!(faults.len(), wrong.len());
    for (fault, (index, line)) in faults.iter().zip([0, 2, 3, 4].iter().zip(&wrong)) {
        let request = Request::post("/cargo/load").header("X-API-Key", &customer.key);
        let single = request.body(Body::from(line.clone())).unwrap();
        let single = service.send(single).await;
        assert_eq!(fault["index"], *index);
        assert_eq!(fault["status"], single.status);
        assert_eq!(fault["detail"], single.body["detail"], "{line}");
    }
    let single = estimate(&service, &customer, &without_tokens).await;
    assert_eq!(single["faults"][0]["status"], 422);
    assert_eq!(single["hold"]["amount"], 0);
    let broken = post_estimate(&service, &customer, "application/json", "{".to_owned()).await;
    assert_eq!(broken.body["faults"][0]["status"], 400);
    let body = "{\"cargo\": 1}".to_owned();
    let no_list = post_estimate(&service, &customer, "application/json", body).await;
    assert_eq!(no_list.status, 400);
}

#[tokio::test]
async fn it_says_what_the_account_would_refuse() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let poor = estimate(&service, &customer, &hello()).await;
    assert_eq!(poor["refused_by"], "insufficient_credits");
    assert_eq!(poor["balance_after_hold"], -HOLD_NANOS);
    // Two fit, and the third does not.
    service.add_credit(&customer, Money(2 * HOLD_NANOS)).await;
    let two = estimate(&service, &customer, &json!({"cargo": vec![hello(); 2]})).await;
    assert_eq!(two["refused_by"], Value::Null);
    let three = estimate(&service, &customer, &json!({"cargo": vec![hello(); 3]})).await;
    assert_eq!(three["refused_by"], "insufficient_credits");
    let cap = Money(HOLD_NANOS - 1);
    let capped = service.create_capped_key(&customer, cap).await;
    let over = estimate(&service, &capped, &hello()).await;
    assert_eq!(over["refused_by"], "key_spending_cap_exceeded");
    let free = estimate(&service, &capped, &chat_request("Hello.", None)).await;
    assert_eq!(free["refused_by"], Value::Null);
    service.set_monthly_tokens(&customer, 89).await;
    let quota = estimate(&service, &customer, &hello()).await;
    assert_eq!(quota["refused_by"], "quota_exceeded");
    assert_eq!(
        service.post_load(&customer, &hello()).await.body["detail"]["error"],
        "quota_exceeded"
    );
}

#[tokio::test]
async fn it_takes_no_token_and_says_how_long_loading_takes() {
    let mut limits = TestLimits::default();
    limits.plan_limits.pro.rate = RateLimit {
        burst: 2,
        per_minute: 60,
    };
    let service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let load = chat_request("Hello.", None);
    let ten = json!({"cargo": vec![load.clone(); 10]});
    for _ in 0..3 {
        let answer = estimate(&service, &customer, &ten).await;
        assert_eq!(answer["turnaround"]["loading_seconds"], 8);
        assert_eq!(answer["refused_by"], Value::Null);
    }
    service.load(&customer, &load).await;
    service.load(&customer, &load).await;
    let answer = estimate(&service, &customer, &ten).await;
    assert_eq!(answer["refused_by"], "rate_limit_exceeded");
    assert_eq!(answer["turnaround"]["loading_seconds"], 10);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn the_turnaround_is_what_the_lane_measured() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let unknown = estimate(&service, &customer, &hello()).await;
    assert_eq!(unknown["turnaround"]["p50_seconds"], Value::Null);
    assert_eq!(unknown["turnaround"]["expected_at"], Value::Null);
    service.load(&customer, &hello()).await;
    let measured = "update shard.lane set turnaround_seconds = 600 where model = 'priced'";
    let measured = sqlx::query(measured).execute(&service.north.pool).await;
    measured.unwrap();
    service.clock.advance(Duration::from_secs(3));
    let known = estimate(&service, &customer, &hello()).await;
    assert_eq!(known["turnaround"]["p50_seconds"], 600);
    assert_eq!(known["turnaround"]["p90_seconds"], Value::Null);
    let expected_at = domain::time::to_wire(service.now() + Duration::from_mins(10));
    assert_eq!(known["turnaround"]["expected_at"], expected_at);
}

#[tokio::test]
async fn an_organization_gets_ten_estimates_a_second() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let load = chat_request("Hello.", None);
    for _ in 0..10 {
        estimate(&service, &customer, &load).await;
    }
    let sibling = service.create_sibling_project(&customer).await;
    for project in [&customer, &sibling] {
        let body = load.to_string();
        let refused = post_estimate(&service, project, "application/json", body).await;
        assert_eq!(refused.status, 429);
        assert_eq!(refused.headers["retry-after"], "1");
    }
    service.clock.advance(Duration::from_millis(100));
    estimate(&service, &customer, &load).await;
    let other = service.create_customer().await;
    estimate(&service, &other, &load).await;
}

#[tokio::test]
async fn the_backstop_counts_a_request_per_hundred_loads() {
    let limits = TestLimits {
        backstop: Backstop {
            per_minute: 3,
            per_hour: 1_000,
        },
        ..TestLimits::default()
    };
    let service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let load = chat_request("Hello.", None);
    let many = |count| json!({"cargo": vec![load.clone(); count]});
    let answer = estimate(&service, &customer, &many(201)).await;
    assert_eq!(answer["items"], 201);
    assert_eq!(service.post_load(&customer, &load).await.status, 429);
    let other = service.create_customer().await;
    let body = many(301).to_string();
    let refused = post_estimate(&service, &other, "application/json", body).await;
    assert_eq!(refused.status, 429);
}

#[tokio::test]
async fn loads_may_share_files() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let file = service.upload_ready_image(&customer).await;
    let unknown = format!("file_{}", "0".repeat(32));
    let chat = |file: &str| file_chat_request("vision", &[("image", file)]);
    let loads = json!({"cargo": [chat(&file), chat(&unknown), chat(&file)]});
    let answer = estimate(&service, &customer, &loads).await;
    assert_eq!(answer["items"], 3);
    let faults = answer["faults"].as_array().unwrap();
    assert_eq!(faults.len(), 1, "{answer}");
    assert_eq!(faults[0]["index"], 1);
}

/// The rule of `GET /whoami`.
#[tokio::test]
async fn only_a_key_that_may_read_sees_the_balance() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    for (rights, is_shown) in [
        (vec![KeyRight::Load], false),
        (vec![KeyRight::Load, KeyRight::Read], true),
    ] {
        let scope = KeyScope {
            rights: Some(rights),
            ..KeyScope::default()
        };
        let key = service.create_key(&customer, scope).await;
        let answer = estimate(&service, &key, &hello()).await;
        assert_eq!(answer["balance_after_hold"].is_i64(), is_shown, "{answer}");
        assert_eq!(answer["hold"]["amount"], HOLD_NANOS);
        let identity = service.get(&key, "/whoami").await;
        assert_eq!(identity.status == 200, is_shown, "{identity}");
    }
}

#[tokio::test]
async fn it_needs_the_right_to_load() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let scope = KeyScope {
        rights: Some(vec![KeyRight::Read]),
        ..KeyScope::default()
    };
    let reader = service.create_key(&customer, scope).await;
    let body = chat_request("Hello.", None).to_string();
    let refused = post_estimate(&service, &reader, "application/json", body).await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.body["detail"]["error"], "key_right_missing");
}
