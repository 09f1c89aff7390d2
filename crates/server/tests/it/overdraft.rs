//! Credit for exactly so many loads, and more loaders than that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use domain::money::Money;
use sqlx::{Connection as _, PgConnection};
use store::shard::credit::{self, Direction, Paid, Payment};
use tokio::task::{JoinHandle, JoinSet};
use workers::stage::{Stage as _, Step};

use crate::support::credit::ask;
use crate::support::http::send;
use crate::support::{Customer, MOCK_DELAY, Service};

const LOADERS: usize = 64;
const LOADS_OF_EACH: usize = 2;
const WAVE: i64 = 128;
const ROUNDS: u32 = 200;
/// Rounds in which settlements give credit back meanwhile.
const CONTENDED: u32 = 40;
/// What every load holds, and what its outcome costs.
const HOLD: i64 = 28_200;
const CHARGE: i64 = 1_000;
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks at the account all the time, on a connection of its own.
struct Reader {
    reads: Arc<AtomicU64>,
    enough: Arc<AtomicBool>,
    reading: JoinHandle<()>,
}

impl Reader {
    async fn new(service: &Service, customer: &Customer) -> Self {
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
                let sound: bool = sqlx::query_scalar(
                    "select posted >= held and held >= 0 and tokens_reserved >= 0
                     from shard.account where organization = $1",
                )
                .bind(organization)
                .fetch_one(&mut connection)
                .await
                .unwrap();
                assert!(sound, "the account is overdrawn");
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self {
            reads,
            enough,
            reading,
        }
    }

    fn reads(&self) -> u64 {
        self.reads.load(Ordering::SeqCst)
    }

    /// Returns when it has looked again since `before`.
    async fn after(&self, before: u64) {
        let begun = Instant::now();
        while self.reads() == before {
            assert!(begun.elapsed() < PATIENCE && !self.reading.is_finished());
            tokio::task::yield_now().await;
        }
    }

    async fn end(self) {
        self.enough.store(true, Ordering::SeqCst);
        self.reading.await.unwrap();
    }
}

/// How many of a wave of loads were taken; the others were refused for want of credit.
async fn wave(routers: &[axum::Router; 2], customer: &Customer) -> i64 {
    let body = ask("priced", "Hello.", 64).to_string();
    let mut loaders = JoinSet::new();
    for number in 0..LOADERS {
        let (routers, key, body) = (routers.clone(), customer.key.clone(), body.clone());
        loaders.spawn(async move {
            let mut accepted = 0;
            for turn in 0..LOADS_OF_EACH {
                let request = Request::post("/cargo/load").header("X-API-Key", &key);
                let request = request.body(Body::from(body.clone())).unwrap();
                let answer = send(routers[(number + turn) % 2].clone(), request).await;
                if answer.status == 202 {
                    accepted += 1;
                    continue;
                }
                assert_eq!(answer.status, 429, "{answer}");
                assert_eq!(answer.body["detail"]["error"], "insufficient_credits");
                assert_eq!(answer.body["detail"]["required"], HOLD);
                assert!(answer.body["detail"]["available"].as_i64().unwrap() < HOLD);
            }
            accepted
        });
    }
    loaders.join_all().await.into_iter().sum()
}

/// Pays in or out until exactly so much is available.
async fn make_available(service: &Service, customer: &Customer, wanted: Money) {
    let missing = wanted - service.account(customer).await.available();
    if missing.is_zero() {
        return;
    }
    let (amount, direction) = if missing > Money::ZERO {
        (missing, Direction::In)
    } else {
        (-missing, Direction::Out)
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
    assert!(matches!(paid, Ok(Paid::Posted { .. })), "{paid:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credit_for_so_many_loads_takes_exactly_so_many() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    let other = service.another_app().await;
    let routers = [service.router.clone(), api::router(other)];
    let reader = Reader::new(&service, &customer).await;
    let mut loaded = 0;
    for round in 0..ROUNDS {
        let before = reader.reads();
        let enough_for = rand::random_range(1..=100_i64);
        make_available(&service, &customer, Money(enough_for * HOLD)).await;
        let accepted = wave(&routers, &customer).await;
        assert_eq!(accepted, enough_for, "round {round}");
        loaded += accepted;
        let account = service.account(&customer).await;
        assert_eq!(account.posted, Money(loaded * HOLD));
        assert_eq!(account.available(), Money::ZERO);
        reader.after(before).await;
    }
    let mut settled = 0;
    for round in 0..CONTENDED {
        let before = reader.reads();
        let enough_for = rand::random_range(1..=100_i64);
        make_available(&service, &customer, Money(enough_for * HOLD)).await;
        let (accepted, given_back) = contended(&mut service, &routers, &customer).await;
        let credit = enough_for * HOLD + given_back * (HOLD - CHARGE);
        assert_eq!(accepted, credit / HOLD, "round {round}");
        (loaded, settled) = (loaded + accepted, settled + given_back);
        let account = service.account(&customer).await;
        assert_eq!(account.held, Money((loaded - settled) * HOLD));
        assert_eq!(account.available(), Money(credit % HOLD));
        reader.after(before).await;
    }
    assert!(settled > 0);
    reader.end().await;
}

/// Loads while earlier cargo is settled, then until nothing more is taken; returns how
/// many were taken and how many settled.
async fn contended(
    service: &mut Service,
    routers: &[axum::Router; 2],
    customer: &Customer,
) -> (i64, i64) {
    let now = service.clock.advance(MOCK_DELAY);
    let crew = &mut service.crews[0];
    // As many batches as are settled at once.
    for _ in 0..8 {
        crew.gather.step(now).await.unwrap();
    }
    crew.dispatch.step(now).await.unwrap();
    let (mut accepted, step) = tokio::join!(wave(routers, customer), crew.collect.step(now));
    let settled = match step.unwrap() {
        Step::Did(count) => i64::try_from(count).unwrap(),
        Step::Idle => 0,
    };
    // Nothing is given back any more: who is refused now stays refused.
    loop {
        let more = wave(routers, customer).await;
        accepted += more;
        if more < WAVE {
            return (accepted, settled);
        }
    }
}
