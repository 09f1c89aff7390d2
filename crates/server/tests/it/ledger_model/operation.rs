//! What can happen in a history, and what came of it.

use std::fmt;

use domain::id::{BatchId, CargoId};
use domain::model::{Kind, Price};
use domain::money::Money;
use domain::outcome::Usage;
use store::shard::credit::{Paid, Payment};
use store::shard::node::Claim;

/// Prices are for so many tokens.
const MILLION: i128 = 1_000_000;
/// Tokens that are held for around each text.
const AROUND: u64 = 8;

/// Whoever works on batches here; everyone else is late.
pub(super) const OURS: Claim = Claim {
    node: uuid::Uuid::from_u128(1),
    epoch: 1,
};

/// What can be loaded for.
#[derive(Debug)]
pub(super) struct Sold {
    pub(super) id: &'static str,
    pub(super) kind: Kind,
    /// Nano-dollars per million tokens, read and written.
    pub(super) price: Option<(i64, i64)>,
}

/// Free, free but counted, round prices, odd ones, less than a nano-dollar a token, and vectors.
pub(super) const SOLD: [Sold; 6] = [
    sold("svc-mock", Kind::Chat, None),
    sold("gratis", Kind::Chat, None),
    sold("priced", Kind::Chat, Some((100_000_000, 400_000_000))),
    sold("odd", Kind::Chat, Some((333_333_333, 777_777_777))),
    sold("crumbs", Kind::Chat, Some((100_000, 300_001))),
    sold("vectors", Kind::Embedding, Some((123_456_789, 0))),
];

const fn sold(id: &'static str, kind: Kind, price: Option<(i64, i64)>) -> Sold {
    Sold { id, kind, price }
}

impl Sold {
    pub(super) fn price(&self) -> Option<Price> {
        self.price.map(|(input, output)| Price {
            input: Money(input),
            output: Money(output),
        })
    }

    /// What is expected to be set aside for a load; nothing for the mock model.
    pub(super) fn hold(&self, bytes: u64, texts: u64, written: u64) -> Option<Hold> {
        if self.id == "svc-mock" {
            return None;
        }
        let read = bytes + AROUND * texts;
        let exactly = worth(self.price, read, written);
        let whole = exactly / MILLION + i128::from(exactly % MILLION != 0);
        Some(Hold {
            amount: i64::try_from(whole).unwrap(),
            price: self.price,
            tokens: read + written,
        })
    }
}

/// In millionths of a nano-dollar.
fn worth(price: Option<(i64, i64)>, read: u64, written: u64) -> i128 {
    let (input, output) = price.unwrap_or_default();
    i128::from(read) * i128::from(input) + i128::from(written) * i128::from(output)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) amount: i64,
    pub(super) price: Option<(i64, i64)>,
    pub(super) tokens: u64,
}

impl Hold {
    /// What is charged for, lost on and counted of some work.
    pub(super) fn settled(&self, given: &Given) -> (i64, i64, u64) {
        if !given.success {
            return (0, 0, 0);
        }
        let Usage {
            input_tokens,
            output_tokens,
        } = given.usage;
        let exactly = worth(self.price, input_tokens, output_tokens);
        let nearest = i64::try_from((exactly + MILLION / 2) / MILLION).unwrap();
        let charged = nearest.min(self.amount);
        let tokens = (input_tokens + output_tokens).min(self.tokens);
        (charged, nearest - charged, tokens)
    }
}

#[derive(Clone)]
pub(super) struct Load {
    pub(super) organization: usize,
    pub(super) body: String,
    pub(super) key: Option<String>,
    /// Which of the serve processes is asked.
    pub(super) process: usize,
    pub(super) hold: Option<Hold>,
}

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (organization, key, length) = (self.organization, &self.key, self.body.len());
        write!(f, "[{organization} {key:?} {length} bytes {:?}]", self.hold)
    }
}

/// What a provider is said to have given for a cargo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) cargo: CargoId,
    pub(super) attempt: u32,
    pub(super) success: bool,
    pub(super) usage: Usage,
}

#[derive(Debug, Clone)]
pub(super) enum Operation {
    Pay {
        organization: usize,
        /// Its note is like no other, so that it can be found again.
        payment: Payment,
    },
    Load(Vec<Load>),
    Record(Record),
    Gather {
        model: usize,
        most: usize,
        batch: BatchId,
    },
    /// What has no outcome goes back to wait.
    End(BatchId),
    Halve {
        batch: BatchId,
        cargo: Vec<CargoId>,
        halves: [BatchId; 2],
    },
    /// The proof that runs by itself must find nothing, whatever is under way.
    Audit,
}

/// Outcomes that someone wants to store.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// None for what waits in the queue.
    pub(super) batch: Option<BatchId>,
    pub(super) claim: Claim,
    pub(super) given: Vec<Given>,
    /// Stands in every body, so that what was stored by whom can be read.
    pub(super) tag: String,
}

#[derive(Debug, Clone)]
pub(super) enum Fact {
    Paid(Paid),
    /// It was cut off, and nothing had happened.
    NotPaid,
    Loaded(Vec<Loaded>),
    /// Everything that could be stored, was.
    Stored(Vec<Given>),
    /// It was cut off, and so much (all or nothing) had happened.
    StoredOrNot(Vec<Given>),
    /// The claim was not theirs, or no longer.
    Moved,
    Gathered(Vec<CargoId>),
    Ended,
    Sound,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loaded {
    New(CargoId),
    Replay(CargoId),
    /// Its first answer was lost; this is what the second one says.
    Found(CargoId),
    NoCredit {
        required: i64,
        available: i64,
    },
    NoQuota {
        monthly: u64,
        spoken_for: u64,
        required: u64,
    },
    KeyReused,
}

impl Operation {
    /// Every cargo that is touched counts, and everything else once.
    pub(super) fn size(&self) -> u64 {
        let size = match self {
            Self::Load(loads) => loads.len(),
            Self::Record(record) => record.given.len(),
            Self::Pay { .. } | Self::Gather { .. } | Self::End(_) | Self::Halve { .. } => 1,
            Self::Audit => 0,
        };
        u64::try_from(size).unwrap()
    }
}
