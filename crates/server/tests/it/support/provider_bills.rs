//! What simulated providers bill, compared with what the service booked as its own cost.

use std::time::Duration;

use domain::money::Money;
use domain::price::{MAX_STEPS, Price, Rates};
use domain::route::InferenceMode;
use serde_json::Value;
use simulator::{SimulatedBillLine, SimulatedProvider, SimulatedTier};

use crate::support::simulated_providers::{PRIMARY_ACCOUNT, ProviderFixture, SPARE_ACCOUNT};

const STEP_TO_END: Duration = Duration::from_mins(1);
const MAX_STEPS_TO_END: u32 = 120;

/// Nano-dollars for one token of each bucket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenPrices {
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) cache_write: u64,
    pub(crate) cache_write_1h: u64,
    pub(crate) output: u64,
}

/// What providers bill us. Each way has prices of its own, and none has those that callers pay: a
/// cost that is booked at the price of another way or of the caller differs from the bill.
pub(crate) const fn provider_prices(via: InferenceMode) -> TokenPrices {
    match via {
        InferenceMode::Batch => TokenPrices {
            input: 60,
            cached: 6,
            cache_write: 75,
            cache_write_1h: 120,
            output: 240,
        },
        InferenceMode::Flex => TokenPrices {
            input: 50,
            cached: 5,
            cache_write: 65,
            cache_write_1h: 105,
            output: 220,
        },
        InferenceMode::Realtime => TokenPrices {
            input: 130,
            cached: 13,
            cache_write: 155,
            cache_write_1h: 250,
            output: 490,
        },
    }
}

impl TokenPrices {
    /// The price of a million tokens.
    pub(crate) fn price(self) -> Price {
        let million = |nanos: u64| Money(i64::try_from(nanos).unwrap() * 1_000_000);
        let base = Rates {
            input: million(self.input),
            cached_input: million(self.cached),
            cache_write: million(self.cache_write),
            cache_write_1h: million(self.cache_write_1h),
            output: million(self.output),
        };
        let steps = [None; MAX_STEPS];
        Price { base, steps }
    }

    /// What the usage of an answer costs. All writes are for minutes.
    pub(crate) fn of_usage(self, usage: &Value) -> u64 {
        let details = &usage["input_tokens_details"];
        let cached = details["cached_tokens"].as_u64().unwrap_or_default();
        let writes = details["cache_write_tokens"].as_u64().unwrap_or_default();
        let fresh = usage["input_tokens"].as_u64().unwrap() - cached - writes;
        fresh * self.input
            + cached * self.cached
            + writes * self.cache_write
            + usage["output_tokens"].as_u64().unwrap() * self.output
    }

    const fn of_line(self, line: &SimulatedBillLine) -> u64 {
        line.fresh * self.input
            + line.cached * self.cached
            + line.cache_write * self.cache_write
            + line.cache_write_1h * self.cache_write_1h
            + line.output * self.output
    }
}

/// Why providers bill something else than the service books. Without such a reason both are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BillException {
    /// The provider ran items whose results it never hands out, or which the service never reads:
    /// their job vanished, or was given up at a deadline; their lines are missing; Gemini has no
    /// results of a job that expired or was cancelled. Nothing says what these items cost.
    UnreadResults,
    /// The connection broke after the provider had answered a single request. No call says what
    /// that answer cost.
    LostResponses,
    /// The provider reports no usage or an absurd one. The service books its estimate.
    WrongUsage,
}

/// In nano-dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BillComparison {
    pub(crate) billed: u64,
    pub(crate) booked: u64,
}

impl BillException {
    const fn describe(self) -> &'static str {
        match self {
            Self::UnreadResults => "unread results",
            Self::LostResponses => "lost responses",
            Self::WrongUsage => "wrong usage",
        }
    }
}

impl BillComparison {
    /// None: the bill and the books agree. A difference without a reason fails the test, and so
    /// does one that the reason cannot have.
    pub(crate) fn explain(self, exceptions: &[BillException]) -> Option<String> {
        let Self { billed, booked } = self;
        if billed == booked {
            return None;
        }
        assert!(!exceptions.is_empty(), "our cost is not the bill: {self:?}");
        let is_estimated = exceptions.contains(&BillException::WrongUsage);
        assert!(is_estimated || billed > booked, "booked too much: {self:?}");
        let reasons: Vec<&str> = exceptions.iter().map(|it| it.describe()).collect();
        let reasons = reasons.join(", ");
        Some(format!("billed {billed}, booked {booked}: {reasons}"))
    }
}

impl ProviderFixture {
    /// What all simulated accounts bill, and what the rows of all shards say that we pay.
    pub(crate) async fn compare_bill(&self) -> BillComparison {
        BillComparison {
            billed: self.billed(),
            booked: self.booked().await,
        }
    }

    pub(crate) async fn assert_booked_as_billed(&self) {
        assert_eq!(self.compare_bill().await.explain(&[]), None);
    }

    /// As `assert_booked_as_billed`, after all cargo has ended.
    pub(crate) async fn finish_and_compare_bill(&mut self) {
        for _ in 0..MAX_STEPS_TO_END {
            if self.count_open_cargo().await == 0 {
                return self.assert_booked_as_billed().await;
            }
            self.advance(STEP_TO_END).await;
        }
        unreachable!("{} cargo did not end", self.count_open_cargo().await);
    }

    async fn count_open_cargo(&self) -> i64 {
        let open = "select count(*) from shard.cargo where completed_at is null";
        let open = sqlx::query_scalar(open).fetch_one(&self.service.north.pool);
        open.await.unwrap()
    }

    fn billed(&self) -> u64 {
        let accounts = SimulatedProvider::ALL.into_iter().flat_map(|provider| {
            [PRIMARY_ACCOUNT, SPARE_ACCOUNT].map(|account| self.simulator.bill(provider, account))
        });
        let cost = |line: SimulatedBillLine| {
            let via = match line.tier {
                SimulatedTier::Batch => InferenceMode::Batch,
                SimulatedTier::Flex => InferenceMode::Flex,
                SimulatedTier::Standard => InferenceMode::Realtime,
            };
            provider_prices(via).of_line(&line)
        };
        accounts.flatten().map(cost).sum()
    }

    /// Open cargo keeps the cost of its earlier attempts.
    async fn booked(&self) -> u64 {
        let mut sum = 0;
        for shard in self.service.shards() {
            let booked = "select (select coalesce(sum(cost), 0) from shard.outcome)::bigint
                + (select coalesce(sum(earlier_cost), 0) from shard.cargo
                   where completed_at is null)::bigint";
            let booked = sqlx::query_scalar::<_, i64>(booked);
            let booked = booked.fetch_one(&shard.pool).await.unwrap();
            sum += u64::try_from(booked).unwrap();
        }
        sum
    }
}
