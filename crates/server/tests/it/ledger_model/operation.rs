//! The operations of a history and their results.

use std::fmt;

use domain::id::{BatchId, CargoId};
use domain::model::{ModelKind, Price};
use domain::money::Money;
use domain::outcome::TokenUsage;
use store::shard::credit::{Payment, PaymentResult};
use store::shard::node::Claim;

/// Prices are per this many tokens.
const TOKENS_PER_PRICE: i128 = 1_000_000;
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
    /// Nano-dollars per million input and output tokens.
    pub(super) price: Option<(i64, i64)>,
}

/// Free, free with a quota, round prices, odd prices, tiny prices, and embeddings.
pub(super) const TEST_MODELS: [TestModel; 6] = [
    test_model("svc-mock", ModelKind::Chat, None),
    test_model("gratis", ModelKind::Chat, None),
    test_model("priced", ModelKind::Chat, Some((100_000_000, 400_000_000))),
    test_model("odd", ModelKind::Chat, Some((333_333_333, 777_777_777))),
    test_model("crumbs", ModelKind::Chat, Some((100_000, 300_001))),
    test_model("vectors", ModelKind::Embedding, Some((123_456_789, 0))),
];

const fn test_model(id: &'static str, kind: ModelKind, price: Option<(i64, i64)>) -> TestModel {
    TestModel { id, kind, price }
}

impl TestModel {
    pub(super) fn price(&self) -> Option<Price> {
        self.price.map(|(input, output)| Price {
            input: Money(input),
            output: Money(output),
        })
    }

    /// The expected hold of a load. The mock model has none.
    pub(super) fn expected_hold(
        &self,
        bytes: u64,
        texts: u64,
        output: u64,
    ) -> Option<ExpectedHold> {
        if self.id == "svc-mock" {
            return None;
        }
        let input = bytes + OVERHEAD_TOKENS_PER_TEXT * texts;
        let exact = exact_cost(self.price, input, output);
        let rounded_up = exact / TOKENS_PER_PRICE + i128::from(exact % TOKENS_PER_PRICE != 0);
        Some(ExpectedHold {
            amount: i64::try_from(rounded_up).unwrap(),
            price: self.price,
            tokens: input + output,
        })
    }
}

/// In millionths of a nano-dollar.
fn exact_cost(price: Option<(i64, i64)>, input: u64, output: u64) -> i128 {
    let (input_price, output_price) = price.unwrap_or_default();
    i128::from(input) * i128::from(input_price) + i128::from(output) * i128::from(output_price)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExpectedHold {
    pub(super) amount: i64,
    pub(super) price: Option<(i64, i64)>,
    pub(super) tokens: u64,
}

impl ExpectedHold {
    /// The charge, the loss and the counted tokens of an outcome.
    pub(super) fn expected_settlement(&self, outcome: &GeneratedOutcome) -> (i64, i64, u64) {
        if !outcome.success {
            return (0, 0, 0);
        }
        let TokenUsage {
            input_tokens,
            output_tokens,
        } = outcome.usage;
        let exact = exact_cost(self.price, input_tokens, output_tokens);
        let cost = i64::try_from((exact + TOKENS_PER_PRICE / 2) / TOKENS_PER_PRICE).unwrap();
        let charged = cost.min(self.amount);
        let tokens = (input_tokens + output_tokens).min(self.tokens);
        (charged, cost - charged, tokens)
    }
}

#[derive(Clone)]
pub(super) struct LoadOperation {
    pub(super) organization: usize,
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
    pub(super) usage: TokenUsage,
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
