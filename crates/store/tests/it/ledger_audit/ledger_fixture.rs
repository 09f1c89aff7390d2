//! A fixture with a small ledger on one shard, and helpers to corrupt it.

use std::collections::BTreeSet;

use domain::account::first_day_of_month;
use domain::hold::Hold;
use domain::id::{ApiKeyId, BatchId, Berth, CargoId, OrganizationId, ProjectId};
use domain::lane::{Lane, LaneId};
use domain::model::ModelKind;
use domain::money::Money;
use domain::price::{Price, PriceStep, Rates};
use domain::response_shape::ResponseShape;
use domain::route::InferenceMode;
use domain::time::Clock as _;
use domain::token_buckets::{TokenBuckets, TokenUsage};
use sqlx::AssertSqlSafe;
use sqlx::Executor as _;
use store::encryption::WriteKeys;
use store::shard::credit::{Payment, PaymentDirection};
use store::shard::key_spending::KeySpendings;
use store::shard::ledger_audit::{LedgerFault, PASS_INTERVAL};
use store::shard::load::NewCargo;
use store::shard::node::Claim;
use store::shard::outcome::{ExpectedCargoState, NewOutcome};
use store::shard::{account, credit, lane, ledger_audit, load, outcome, waiting};
use store::{Shard, body};
use test_support::database::TestDatabase;
use test_support::ledger_proof;
use uuid::Uuid;

/// Worth 30,000 nano-dollars at the price below.
const USAGE: TokenBuckets = TokenBuckets::plain(TokenUsage {
    input_tokens: 100,
    output_tokens: 50,
});
const PRICE: Price = Price::flat(Money(100_000_000), Money(400_000_000));
/// Twice the batch price.
const REALTIME: Price = Price::flat(Money(200_000_000), Money(800_000_000));
/// Above a thousand input tokens, every rate is twice as high.
const BUCKET_PRICE: Price = Price {
    base: bucket_rates(1),
    steps: [
        Some(PriceStep {
            above: 1000,
            rates: bucket_rates(2),
        }),
        None,
    ],
};
const NO_CLAIM: Claim = Claim {
    node: Uuid::nil(),
    epoch: 1,
};

/// How large the hold of a cargo is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HoldKind {
    /// More than the cargo will use.
    Enough,
    /// One nano-dollar: the rest is a loss.
    Insufficient,
    /// Enough, at a price by bucket and with a step.
    Buckets,
    /// Only tokens of the monthly quota.
    Tokens,
    Nothing,
}

pub(crate) struct LedgerFixture {
    pub(crate) database: TestDatabase,
    pub(crate) organization: OrganizationId,
    lane: LaneId,
    made: u64,
}

impl LedgerFixture {
    /// An organization with ten dollars.
    pub(crate) async fn open() -> Self {
        let database = TestDatabase::new().await;
        let now = database.clock.now();
        let organization = OrganizationId::new(now, Berth::new(1).unwrap(), 1);
        let shard = &database.shard;
        account::open(shard, organization, now).await.unwrap();
        let (provider, model) = ("mock".to_owned(), "priced".to_owned());
        let kind = ModelKind::Chat;
        let lane = Lane {
            provider,
            model,
            kind,
            via: InferenceMode::Batch,
        };
        let lane = lane::ensure(shard, &lane).await.unwrap();
        let books = Self {
            database,
            organization,
            lane,
            made: 1,
        };
        // From here on, the audit has something to start from.
        assert_eq!(books.audit().await, []);
        books.pay(PaymentDirection::In, 10_000_000_000).await;
        books
    }

    /// Every kind of cargo, completed and open, and a payment in between.
    pub(crate) async fn with_history() -> (Self, Vec<CargoId>) {
        let mut books = Self::open().await;
        let mut cargo = Vec::new();
        for holding in [
            HoldKind::Enough,
            HoldKind::Insufficient,
            HoldKind::Tokens,
            HoldKind::Nothing,
            HoldKind::Enough,
            HoldKind::Enough,
            HoldKind::Enough,
            HoldKind::Tokens,
        ] {
            cargo.push(books.load(holding).await);
        }
        books.finish(&cargo[..2], true).await;
        books.pay(PaymentDirection::Out, 1_000_000_000).await;
        books.finish(&cargo[2..4], true).await;
        books.finish(&cargo[4..5], false).await;
        books.gather(cargo[5]).await;
        (books, cargo)
    }

    pub(crate) fn shard(&self) -> &Shard {
        &self.database.shard
    }

    pub(crate) async fn pay(&self, direction: PaymentDirection, nanos: i64) {
        let payment = Payment {
            amount: Money(nanos),
            direction,
            reference: None,
            note: None,
        };
        let now = self.database.clock.now();
        let paid = credit::pay(self.shard(), self.organization, &payment, now).await;
        assert!(matches!(
            paid.unwrap(),
            credit::PaymentResult::Posted { .. }
        ));
    }

    pub(crate) async fn load(&mut self, holding: HoldKind) -> CargoId {
        self.load_capped(holding, None).await
    }

    /// Loads a cargo whose hold counts in the row of this key.
    pub(crate) async fn load_capped(
        &mut self,
        holding: HoldKind,
        spending_key: Option<ApiKeyId>,
    ) -> CargoId {
        self.made += 1;
        let now = self.database.clock.now();
        let berth = self.organization.berth();
        let hold = match holding {
            HoldKind::Enough => hold(140_000, Some(PRICE), 1_100),
            HoldKind::Insufficient => hold(1, Some(PRICE), 10),
            HoldKind::Buckets => hold(1_000_000, Some(BUCKET_PRICE), 5_000),
            HoldKind::Tokens => hold(0, None, 1_100),
            HoldKind::Nothing => Hold::default(),
        };
        let cargo = NewCargo {
            id: CargoId::new(now, berth, self.made),
            organization: self.organization,
            project: ProjectId::new(now, berth, 1),
            key: ApiKeyId::new(now, berth, 1),
            lane: self.lane,
            model: "priced".to_owned(),
            callback: None,
            request: body::pack(b"{}"),
            metadata: None,
            idempotency: None,
            hold,
            spending_key,
            files: Vec::new(),
            response_shape: ResponseShape::default(),
            warnings: None,
            deadline_at: None,
            route_reason: None,
            trace: None,
            custom_id: None,
            member: None,
        };
        let id = cargo.id;
        let mut tx = self.shard().begin().await.unwrap();
        let locked = account::lock_all(&mut tx, &[self.organization]).await;
        let mut account = locked.unwrap().accounts[0];
        account.place_hold(&hold, None, now).unwrap();
        account::write(&mut tx, &[account]).await.unwrap();
        let month = first_day_of_month(now);
        let keys = spending_key.map(|key| ((key, month), self.organization));
        let rows = KeySpendings::read(&mut tx, &keys.into_iter().collect()).await;
        let mut rows = rows.unwrap();
        if let Some(spending) = spending_key.and_then(|key| rows.get_mut(key, month)) {
            spending.place_hold(hold.amount, Money(i64::MAX)).unwrap();
        }
        rows.write(&mut tx).await.unwrap();
        let keys = WriteKeys::plain([cargo.project]);
        let loaded = load::insert(&mut tx, vec![cargo], &keys, now).await;
        loaded.unwrap();
        tx.commit().await.unwrap();
        id
    }

    pub(crate) async fn finish(&self, cargo: &[CargoId], success: bool) {
        let usage = if success {
            USAGE
        } else {
            TokenBuckets::default()
        };
        self.finish_with(cargo, success, usage, None).await;
    }

    pub(crate) async fn finish_with(
        &self,
        cargo: &[CargoId],
        success: bool,
        usage: TokenBuckets,
        cost: Option<Money>,
    ) {
        let outcomes = cargo.iter().map(|cargo| NewOutcome {
            cargo: *cargo,
            // Only encryption needs it, and that is off here.
            project: Uuid::nil().into(),
            attempt: 1,
            success,
            failure_code: None,
            body: body::pack(b"{}"),
            usage,
            cost,
            served: Some(InferenceMode::Batch),
            realtime: Some(REALTIME),
            claim_delivery: false,
        });
        let now = self.database.clock.now();
        let stored = outcome::record(
            self.shard(),
            ExpectedCargoState::Waiting,
            NO_CLAIM,
            outcomes.collect(),
            now,
        );
        assert_eq!(stored.await.unwrap(), cargo);
    }

    pub(crate) async fn gather(&self, cargo: CargoId) {
        let now = self.database.clock.now();
        let batch = BatchId::new(now, self.organization.berth(), 1);
        let mut tx = self.shard().begin().await.unwrap();
        waiting::gather(
            &mut tx,
            self.lane,
            batch,
            &[(self.organization, cargo)],
            now,
        )
        .await
        .unwrap();
        tx.commit().await.unwrap();
    }

    /// Runs statements with triggers and foreign keys disabled.
    pub(crate) async fn corrupt(&self, statements: &str) {
        let mut connection = self.shard().pool.acquire().await.unwrap();
        let spoiled = format!(
            "set session_replication_role = replica; {statements};
             reset session_replication_role"
        );
        connection.execute(AssertSqlSafe(spoiled)).await.unwrap();
    }

    /// The names of the broken invariants, by the full check and by the incremental audit.
    pub(crate) async fn find_faults(&self) -> (String, String) {
        let whole = ledger_audit::check_all(self.shard()).await.unwrap().faults;
        (
            invariant_names(&whole),
            invariant_names(&self.audit().await),
        )
    }

    pub(crate) async fn audit(&self) -> Vec<LedgerFault> {
        let now = self.database.clock.now();
        ledger_proof::audit(self.shard(), now).await.unwrap()
    }

    /// Reads everything again, and proves what has changed since.
    pub(crate) async fn audit_everything(&self) -> Vec<LedgerFault> {
        self.database.clock.advance(PASS_INTERVAL.to_std().unwrap());
        let now = self.database.clock.now();
        let finished = ledger_proof::finish_pass(self.shard(), now).await;
        assert!(finished.unwrap(), "no pass was due");
        self.audit().await
    }
}

pub(crate) fn invariant_names(faults: &[LedgerFault]) -> String {
    let names: BTreeSet<&str> = faults.iter().map(|it| it.invariant.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

fn hold(nanos: i64, price: Option<Price>, tokens: u64) -> Hold {
    Hold {
        amount: Money(nanos),
        price,
        tokens,
    }
}

/// 100 nano-dollars for an input token, 10 for a cached one, 125 and 200 for written ones, 400 for
/// an output token; all times a factor.
const fn bucket_rates(factor: i64) -> Rates {
    Rates {
        input: Money(100_000_000 * factor),
        cached_input: Money(10_000_000 * factor),
        cache_write: Money(125_000_000 * factor),
        cache_write_1h: Money(200_000_000 * factor),
        output: Money(400_000_000 * factor),
    }
}
