//! Spending caps of API keys: exact under concurrency, settled with the outcome, one per month.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use domain::account::first_day_of_month;
use domain::money::Money;
use store::control::audit_log::Actor;
use store::control::project;
use store::erasure;
use store::shard::{key_spending, ledger_audit};
use tokio::task::JoinSet;
use workers::stage::Stage as _;

use crate::support::credit::{ONE_DOLLAR, model_chat_request};
use crate::support::http::send;
use crate::support::{Customer, MOCK_DELAY, TestService};

/// What every load holds, and what its outcome costs.
const HOLD_NANOS: i64 = 28_200;
const CHARGE_NANOS: i64 = 1_000;
const CONCURRENT_LOADS: usize = 2_000;
const LOADS_THAT_FIT: i64 = 1_234;

impl TestService {
    /// Held and spent in the month of now; zero if there is no row.
    async fn read_spending(&self, customer: &Customer) -> (Money, Money) {
        let month = first_day_of_month(self.now());
        let rows = key_spending::list(&self.north, &[customer.key_id], month).await;
        let row = rows.unwrap().into_iter().next();
        row.map_or_else(Default::default, |row| (row.held, row.spent))
    }

    async fn assert_clean_ledger(&self) {
        let report = ledger_audit::check_all(&self.north).await.unwrap();
        assert_eq!(report.faults, []);
    }
}

/// Loads at the same time, through two processes, and repeats loads that were refused with 503.
/// Returns how many were accepted.
async fn load_at_once(routers: &[axum::Router; 2], customer: &Customer, wave: &str) -> i64 {
    let body = model_chat_request("priced", "Hello.", 64).to_string();
    let mut loads = JoinSet::new();
    for number in 0..CONCURRENT_LOADS {
        let (key, body) = (customer.key.clone(), body.clone());
        let (router, name) = (routers[number % 2].clone(), format!("{wave}-{number}"));
        loads.spawn(async move {
            loop {
                let request = Request::post("/cargo/load")
                    .header("X-API-Key", &key)
                    .header("Idempotency-Key", &name);
                let request = request.body(Body::from(body.clone())).unwrap();
                let answer = send(router.clone(), request).await;
                match answer.status {
                    202 => return 1,
                    503 => tokio::task::yield_now().await,
                    _ => {
                        let code = &answer.body["detail"]["error"];
                        assert_eq!(code, "key_spending_cap_exceeded", "{answer}");
                        assert_eq!(answer.status, 429);
                        return 0;
                    }
                }
            }
        });
    }
    loads.join_all().await.into_iter().sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cap_is_exact_under_2000_concurrent_loads() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    // One nano-dollar less than what one more load needs.
    let cap = Money((LOADS_THAT_FIT + 1) * HOLD_NANOS - 1);
    let capped = service.create_capped_key(&customer, cap).await;
    let other = service.start_another_app().await;
    let routers = [service.router.clone(), api::router(other)];

    let accepted = load_at_once(&routers, &capped, "first").await;
    assert_eq!(accepted, LOADS_THAT_FIT);
    let held = Money(LOADS_THAT_FIT * HOLD_NANOS);
    assert_eq!(service.read_spending(&customer).await, (held, Money::ZERO));
    assert_eq!(service.read_account(&customer).await.held, held);
    service.assert_clean_ledger().await;

    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let spent = Money(LOADS_THAT_FIT * CHARGE_NANOS);
    assert_eq!(service.read_spending(&customer).await, (Money::ZERO, spent));
    service.assert_clean_ledger().await;

    // Settlement made room, and the room is used to the nano-dollar.
    let fits = (cap - spent).nanos() / HOLD_NANOS;
    assert_eq!(load_at_once(&routers, &capped, "second").await, fits);
    let held = Money(fits * HOLD_NANOS);
    assert_eq!(service.read_spending(&customer).await, (held, spent));
    service.assert_clean_ledger().await;
}

#[tokio::test]
async fn a_load_beyond_the_cap_is_refused_and_holds_nothing() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let cap = Money(2 * HOLD_NANOS - 1);
    let capped = service.create_capped_key(&customer, cap).await;
    let body = model_chat_request("priced", "Hello.", 64);
    service.load(&capped, &body).await;
    let refused = service.post_load(&capped, &body).await;
    insta::assert_snapshot!(refused, @r#"
    429 {
      "detail": {
        "error": "key_spending_cap_exceeded",
        "message": "The monthly spending cap of this API key is 0.000056399 dollars: 0.0000282 dollars are spent or held, and this load may cost 0.0000282 dollars. The cap resets at 2026-02-01T00:00:00.000000Z.",
        "monthly_cap": 56399,
        "spent": 28200,
        "required": 28200,
        "currency": "USD",
        "scale": 9,
        "resets_at": "2026-02-01T00:00:00.000000Z"
      }
    }
    "#);
    assert!(refused.headers.get("retry-after").is_none());
    assert_eq!(
        service.read_account(&customer).await.held,
        Money(HOLD_NANOS)
    );
    // Free models and other keys are still accepted.
    service
        .load(&capped, &model_chat_request("svc-mock", "Hello.", 64))
        .await;
    service.load(&customer, &body).await;
    service.assert_clean_ledger().await;
}

#[tokio::test]
async fn failed_cargo_gives_its_part_of_the_cap_back() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let capped = service.create_capped_key(&customer, ONE_DOLLAR).await;
    service
        .load(&capped, &model_chat_request("priced-failing", "No.", 64))
        .await;
    assert!(service.read_spending(&customer).await.0 > Money::ZERO);
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(
        service.read_spending(&customer).await,
        (Money::ZERO, Money::ZERO)
    );
    service.assert_clean_ledger().await;
}

#[tokio::test]
async fn cargo_of_january_that_is_settled_in_february_counts_in_january() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let capped = service
        .create_capped_key(&customer, Money(HOLD_NANOS))
        .await;
    let body = model_chat_request("priced", "Hello.", 64);
    // The last minute of January.
    let now = service.clock.advance(Duration::from_mins(31 * 24 * 60 - 1));
    service.worker_sets[0].sweep.step(now).await.unwrap();
    service.load(&capped, &body).await;
    assert_eq!(service.post_load(&capped, &body).await.status, 429);
    let january = first_day_of_month(now);

    service.clock.advance(MOCK_DELAY);
    service.load(&capped, &body).await;
    assert_eq!(service.post_load(&capped, &body).await.status, 429);
    service.run_until_idle().await;
    let rows = key_spending::list(&service.north, &[customer.key_id], january).await;
    let row = rows.unwrap()[0];
    assert_eq!((row.held, row.spent), (Money::ZERO, Money(CHARGE_NANOS)));
    let held = Money(HOLD_NANOS);
    assert_eq!(service.read_spending(&customer).await, (held, Money::ZERO));
    service.assert_clean_ledger().await;
}

#[tokio::test]
async fn keys_that_share_a_cap_spend_it_together() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let cap = Money(2 * HOLD_NANOS);
    let body = model_chat_request("priced", "Hello.", 64);
    // A rotated key and its successor count under the same id.
    let old = service.create_capped_key(&customer, cap).await;
    let new = service.create_capped_key(&customer, cap).await;
    service.load(&old, &body).await;
    service.load(&new, &body).await;
    for key in [&old, &new] {
        assert_eq!(service.post_load(key, &body).await.status, 429);
    }
}

#[tokio::test]
async fn a_key_without_a_cap_has_no_row() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let rows: i64 = sqlx::query_scalar("select count(*) from shard.key_spending")
        .fetch_one(&service.north.pool)
        .await
        .unwrap();
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn the_spending_of_erased_keys_stays() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let capped = service.create_capped_key(&customer, ONE_DOLLAR).await;
    service
        .load(&capped, &model_chat_request("priced", "Hello.", 64))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let project = project::find(&service.control, customer.project).await;
    let (project, by) = (project.unwrap().unwrap(), Actor::console());
    let (control, now) = (&service.control, service.now());
    let erased = erasure::erase_project(control, &service.north, &project, &by, now).await;
    erased.unwrap();
    let spent = Money(CHARGE_NANOS);
    assert_eq!(service.read_spending(&customer).await, (Money::ZERO, spent));
    service.assert_clean_ledger().await;
}
