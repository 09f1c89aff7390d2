//! The operations of a history and their results.

use std::fmt;

use domain::features::{Features, PromptCaching, ToolSupport};
use domain::id::{BatchId, CargoId};
use domain::model::{Model, ModelKind};
use domain::money::Money;
use domain::token_buckets::TokenBuckets;
use store::shard::credit::{Payment, PaymentResult};
use store::shard::node::Claim;

use super::expected_price::{CacheMark, ExpectedPrice};
use crate::support::credit::priced_model;

const OVERHEAD_TOKENS_PER_TEXT: u64 = 8;

/// The claim that holds every batch. Writes with another claim are fenced.
pub(super) const LIVE_CLAIM: Claim = Claim {
    node: uuid::Uuid::from_u128(1),
    epoch: 1,
};

/// A model that the history loads for.
#[derive(Debug)]
pub(super) struct TestModel {
    pub(super) id: &'static str,
    pub(super) kind: ModelKind,
    price: Option<ExpectedPrice>,
    /// What the provider bills us.
    cost: Option<ExpectedPrice>,
}

/// Free, free with a quota, round prices, odd prices, tiny prices, embeddings, prices by bucket, and
/// prices with one and with two steps. Some have a known cost.
pub(super) const TEST_MODELS: [TestModel; 9] = [
    test_model("svc-mock", ModelKind::Chat, None, None),
    test_model("gratis", ModelKind::Chat, None, None),
    test_model(
        "priced",
        ModelKind::Chat,
        Some(ExpectedPrice::flat(100_000_000, 400_000_000)),
        None,
    ),
    test_model(
        "odd",
        ModelKind::Chat,
        Some(ExpectedPrice::flat(333_333_333, 777_777_777)),
        Some(ExpectedPrice::flat(333_333_331, 777_777_773)),
    ),
    test_model(
        "crumbs",
        ModelKind::Chat,
        Some(ExpectedPrice::flat(100_000, 300_001)),
        None,
    ),
    test_model(
        "vectors",
        ModelKind::Embedding,
        Some(ExpectedPrice::flat(123_456_789, 0)),
        None,
    ),
    test_model(
        "buckets",
        ModelKind::Chat,
        Some(ExpectedPrice::by_bucket(
            [
                100_000_001,
                10_000_003,
                125_000_007,
                200_000_009,
                400_000_011,
            ],
            &[],
        )),
        Some(ExpectedPrice::by_bucket(
            [90_000_001, 9_000_003, 112_000_007, 180_000_009, 360_000_011],
            &[(
                500,
                [
                    180_000_000,
                    18_000_000,
                    225_000_000,
                    360_000_000,
                    540_000_000,
                ],
            )],
        )),
    ),
    test_model(
        "stepped",
        ModelKind::Chat,
        Some(ExpectedPrice::by_bucket(
            [
                100_000_000,
                10_000_000,
                125_000_000,
                200_000_000,
                400_000_000,
            ],
            &[(
                150,
                [
                    200_000_000,
                    20_000_000,
                    250_000_000,
                    400_000_000,
                    600_000_000,
                ],
            )],
        )),
        None,
    ),
    // A cheaper second step: a bound beyond it is not the dearest that can happen.
    test_model(
        "discount",
        ModelKind::Chat,
        Some(ExpectedPrice::by_bucket(
            [100_001, 10_001, 90_001, 110_001, 300_001],
            &[
                (100, [900_001, 10_001, 1_000_001, 950_001, 900_001]),
                (260, [50_001, 60_001, 40_001, 30_001, 200_001]),
            ],
        )),
        Some(ExpectedPrice::flat(1, 2)),
    ),
];

const fn test_model(
    id: &'static str,
    kind: ModelKind,
    price: Option<ExpectedPrice>,
    cost: Option<ExpectedPrice>,
) -> TestModel {
    TestModel {
        id,
        kind,
        price,
        cost,
    }
}

/// What bounds the tokens of a load.
#[derive(Debug)]
pub(super) struct LoadSize {
    pub(super) bytes: u64,
    pub(super) texts: u64,
    /// Tokens of prompts that a provider adds.
    pub(super) hidden: u64,
    pub(super) output: u64,
    pub(super) mark: CacheMark,
}

impl TestModel {
    /// The number of a model in the list.
    pub(super) fn number(id: &str) -> usize {
        TEST_MODELS.iter().position(|model| model.id == id).unwrap()
    }

    /// Models with prices by bucket take tools and cache marks.
    pub(super) fn has_features(&self) -> bool {
        self.price.is_some_and(|price| !price.is_flat())
    }

    pub(super) fn to_model(&self) -> Model {
        let plain = match self.price {
            Some(price) => priced_model(self.id, self.kind, price.to_price()),
            None => Model::plain(self.id, "mock", self.kind),
        };
        if !self.has_features() {
            return plain;
        }
        let features = Features {
            tools: ToolSupport::Parallel,
            max_tools: 4,
            caching: PromptCaching::Marks,
            ..Features::plain()
        };
        Model { features, ..plain }
    }

    /// The cost as the system under test computes it.
    pub(super) fn cost_of(&self, usage: TokenBuckets) -> Option<Money> {
        self.cost.map(|cost| cost.to_price().rounded_cost(usage))
    }

    /// The cost as the oracle computes it.
    pub(super) fn expected_cost(&self, usage: TokenBuckets) -> Option<i64> {
        self.cost.map(|cost| cost.cost(usage))
    }

    pub(super) fn is_beyond_step(&self, usage: TokenBuckets) -> bool {
        self.price.is_some_and(|price| price.is_beyond_step(usage))
    }

    /// The expected hold of a load. The mock model has none.
    pub(super) fn expected_hold(&self, size: &LoadSize) -> Option<ExpectedHold> {
        if self.id == "svc-mock" {
            return None;
        }
        let input = size.bytes + OVERHEAD_TOKENS_PER_TEXT * size.texts + size.hidden;
        let bound = |price: ExpectedPrice| price.bound(input, size.output, size.mark);
        Some(ExpectedHold {
            amount: self.price.map_or(0, bound),
            price: self.price,
            tokens: input + size.output,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExpectedHold {
    pub(super) amount: i64,
    pub(super) price: Option<ExpectedPrice>,
    pub(super) tokens: u64,
}

impl ExpectedHold {
    /// The charge, the loss and the counted tokens of an outcome.
    pub(super) fn expected_settlement(&self, outcome: &GeneratedOutcome) -> (i64, i64, u64) {
        if !outcome.success {
            return (0, 0, 0);
        }
        let usage = outcome.usage;
        let cost = self.price.map_or(0, |price| price.cost(usage));
        let charged = cost.min(self.amount);
        let input = usage.fresh + usage.cached + usage.cache_write + usage.cache_write_1h;
        let tokens = (input + usage.output).min(self.tokens);
        (charged, cost - charged, tokens)
    }
}

#[derive(Clone)]
pub(super) struct LoadOperation {
    pub(super) organization: usize,
    /// Its number in `TEST_MODELS`.
    pub(super) model: usize,
    pub(super) body: String,
    pub(super) key: Option<String>,
    /// The index of the serve process that receives it.
    pub(super) process: usize,
    pub(super) hold: Option<ExpectedHold>,
}

impl fmt::Debug for LoadOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (organization, key, length) = (self.organization, &self.key, self.body.len());
        write!(f, "[{organization} {key:?} {length} bytes {:?}]", self.hold)
    }
}

/// An outcome that the history draws for a cargo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GeneratedOutcome {
    pub(super) cargo: CargoId,
    pub(super) attempt: u32,
    pub(super) success: bool,
    pub(super) usage: TokenBuckets,
    /// The number of the cargo's model in `TEST_MODELS`.
    pub(super) model: usize,
}

#[derive(Debug, Clone)]
pub(super) enum LedgerOperation {
    Pay {
        organization: usize,
        /// Its note is unique, so that its posting can be found.
        payment: Payment,
    },
    Load(Vec<LoadOperation>),
    Record(RecordOperation),
    Gather {
        model: usize,
        max: usize,
        batch: BatchId,
    },
    /// Ends a batch. Its cargo without an outcome wait again.
    End(BatchId),
    Split {
        batch: BatchId,
        cargo: Vec<CargoId>,
        halves: [BatchId; 2],
    },
    /// The ledger audit must find no fault, even during other operations.
    Audit,
}

/// An attempt to store outcomes.
#[derive(Debug, Clone)]
pub(super) struct RecordOperation {
    /// None for waiting cargo.
    pub(super) batch: Option<BatchId>,
    pub(super) claim: Claim,
    pub(super) outcomes: Vec<GeneratedOutcome>,
    /// The body of every outcome, which shows which operation stored it.
    pub(super) tag: String,
}

#[derive(Debug, Clone)]
pub(super) enum OperationResult {
    Paid(PaymentResult),
    /// The answer was lost, and the payment was not posted.
    NotPaid,
    Loaded(Vec<LedgerLoadResult>),
    /// All outcomes that could be stored.
    Stored(Vec<GeneratedOutcome>),
    /// The answer was lost. These outcomes were stored: all or none.
    StoredWithoutAnswer(Vec<GeneratedOutcome>),
    /// The claim did not hold the batch, or no longer.
    Fenced,
    Gathered(Vec<CargoId>),
    Ended,
    AuditPassed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LedgerLoadResult {
    New(CargoId),
    Replay(CargoId),
    /// The first answer was lost. A retry with the same key returned this cargo.
    FoundOnRetry(CargoId),
    InsufficientCredit {
        required: i64,
        available: i64,
    },
    QuotaExceeded {
        monthly: u64,
        committed_tokens: u64,
        required: u64,
    },
    KeyReused,
}

impl LedgerOperation {
    /// The number of cargo, or one for an operation without a list of cargo.
    pub(super) fn size(&self) -> u64 {
        let size = match self {
            Self::Load(loads) => loads.len(),
            Self::Record(record) => record.outcomes.len(),
            Self::Pay { .. } | Self::Gather { .. } | Self::End(_) | Self::Split { .. } => 1,
            Self::Audit => 0,
        };
        u64::try_from(size).unwrap()
    }
}
