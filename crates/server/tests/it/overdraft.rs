//! No overdraft: many loaders compete for the credit of a few loads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use domain::money::Money;
use sqlx::{Connection as _, PgConnection};
use store::shard::credit::{self, Payment, PaymentDirection, PaymentResult};
use tokio::task::{JoinHandle, JoinSet};
use workers::stage::{Stage as _, StepResult};

use crate::support::credit::model_chat_request;
use crate::support::http::send;
use crate::support::{Customer, MOCK_DELAY, TestService};

const LOADERS: usize = 64;
const LOADS_PER_LOADER: usize = 2;
const LOADS_PER_WAVE: i64 = 128;
const ROUNDS: u32 = 200;
/// Rounds in which settlements release credit at the same time.
const CONTENDED_ROUNDS: u32 = 40;
/// What every load holds, and what its outcome costs.
const HOLD_NANOS: i64 = 28_200;
const CHARGE_NANOS: i64 = 1_000;
const READ_TIMEOUT: Duration = Duration::from_mins(1);

/// Checks the account continuously, on a separate connection.
struct AccountWatcher {
    reads: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl AccountWatcher {
    async fn new(service: &TestService, customer: &Customer) -> Self {
        let options = service.north.pool.connect_options();
        let mut connection = PgConnection::connect_with(&options).await.unwrap();
        let organization = customer.organization.uuid();
        let (reads, enough) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (counted, ended) = (reads.clone(), enough.clone());
        let reading = tokio::spawn(async move {
            while !ended.load(Ordering::SeqCst) {
                let is_valid: bool = sqlx::query_scalar(
                    "select posted >= held and held >= 0 and tokens_reserved >= 0
                     from shard.account where organization = $1",
                )
                .bind(organization)
                .fetch_one(&mut connection)
                .await
                .unwrap();
                assert!(is_valid, "the account is overdrawn");
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self {
            reads,
            stop: enough,
            task: reading,
        }
    }

    fn reads(&self) -> u64 {
        self.reads.load(Ordering::SeqCst)
    }

    /// Waits for a read after the first `before` reads.
    async fn wait_for_read_after(&self, before: u64) {
        let begun = Instant::now();
        while self.reads() == before {
            assert!(begun.elapsed() < READ_TIMEOUT && !self.task.is_finished());
            tokio::task::yield_now().await;
        }
    }

    async fn finish(self) {
        self.stop.store(true, Ordering::SeqCst);
        self.task.await.unwrap();
    }
}

/// How many loads of a wave were accepted. The others were refused for insufficient credit.
async fn load_wave(routers: &[axum::Router; 2], customer: &Customer) -> i64 {
    let body = model_chat_request("priced", "Hello.", 64).to_string();
    let mut loaders = JoinSet::new();
    for number in 0..LOADERS {
        let (routers, key, body) = (routers.clone(), customer.key.clone(), body.clone());
        loaders.spawn(async move {
            let mut accepted = 0;
            for turn in 0..LOADS_PER_LOADER {
                let request = Request::post("/cargo/load").header("X-API-Key", &key);
                let request = request.body(Body::from(body.clone())).unwrap();
                let answer = send(routers[(number + turn) % 2].clone(), request).await;
                if answer.status == 202 {
                    accepted += 1;
                    continue;
                }
                assert_eq!(answer.status, 429, "{answer}");
                assert_eq!(answer.body["detail"]["error"], "insufficient_credits");
                assert_eq!(answer.body["detail"]["required"], HOLD_NANOS);
                assert!(answer.body["detail"]["available"].as_i64().unwrap() < HOLD_NANOS);
            }
            accepted
        });
    }
    loaders.join_all().await.into_iter().sum()
}

/// Deposits or withdraws so that exactly this amount is available.
async fn make_available(service: &TestService, customer: &Customer, available: Money) {
    let missing = available - service.read_account(customer).await.available();
    if missing.is_zero() {
        return;
    }
    let (amount, direction) = if missing > Money::ZERO {
        (missing, PaymentDirection::In)
    } else {
        (-missing, PaymentDirection::Out)
    };
    let payment = Payment {
        amount,
        direction,
        reference: None,
        note: None,
    };
    let paid = credit::pay(
        &service.north,
        customer.organization,
        &payment,
        service.now(),
    )
    .await;
    assert!(matches!(paid, Ok(PaymentResult::Posted { .. })), "{paid:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credit_for_n_loads_admits_exactly_n_loads() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let other = service.start_another_app().await;
    let routers = [service.router.clone(), api::router(other)];
    let reader = AccountWatcher::new(&service, &customer).await;
    let mut loaded = 0;
    for round in 0..ROUNDS {
        let before = reader.reads();
        let enough_for = rand::random_range(1..=100_i64);
        make_available(&service, &customer, Money(enough_for * HOLD_NANOS)).await;
        let accepted = load_wave(&routers, &customer).await;
        assert_eq!(accepted, enough_for, "round {round}");
        loaded += accepted;
        let account = service.read_account(&customer).await;
        assert_eq!(account.posted, Money(loaded * HOLD_NANOS));
        assert_eq!(account.available(), Money::ZERO);
        reader.wait_for_read_after(before).await;
    }
    let mut settled = 0;
    for round in 0..CONTENDED_ROUNDS {
        let before = reader.reads();
        let enough_for = rand::random_range(1..=100_i64);
        make_available(&service, &customer, Money(enough_for * HOLD_NANOS)).await;
        let (accepted, released) = load_during_settlement(&mut service, &routers, &customer).await;
        let credit = enough_for * HOLD_NANOS + released * (HOLD_NANOS - CHARGE_NANOS);
        assert_eq!(accepted, credit / HOLD_NANOS, "round {round}");
        (loaded, settled) = (loaded + accepted, settled + released);
        let account = service.read_account(&customer).await;
        assert_eq!(account.held, Money((loaded - settled) * HOLD_NANOS));
        assert_eq!(account.available(), Money(credit % HOLD_NANOS));
        reader.wait_for_read_after(before).await;
    }
    assert!(settled > 0);
    reader.finish().await;
}

/// Loads while earlier cargo is settled, and then until no load is accepted. Returns how many
/// loads were accepted and how many cargo were settled.
async fn load_during_settlement(
    service: &mut TestService,
    routers: &[axum::Router; 2],
    customer: &Customer,
) -> (i64, i64) {
    let now = service.clock.advance(MOCK_DELAY);
    let workers = &mut service.worker_sets[0];
    // As many batches as one step of collect settles.
    for _ in 0..8 {
        workers.gather.step(now).await.unwrap();
    }
    workers.dispatch.step(now).await.unwrap();
    let (mut accepted, step) =
        tokio::join!(load_wave(routers, customer), workers.collect.step(now));
    let settled = match step.unwrap() {
        StepResult::Processed(count) => i64::try_from(count).unwrap(),
        StepResult::Idle => 0,
    };
    // No more credit is released, so a refusal is now final.
    loop {
        let more = load_wave(routers, customer).await;
        accepted += more;
        if more < LOADS_PER_WAVE {
            return (accepted, settled);
        }
    }
}
