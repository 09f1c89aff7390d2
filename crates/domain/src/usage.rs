//! What happened, counted: the rows from which histograms and usage are read.

use std::collections::BTreeMap;

use crate::id::{KeyId, ProjectId};
use crate::money::Money;
use crate::outcome::Usage;

/// A fact worth counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    Loaded,
    Succeeded,
    Failed,
    Delivered,
    CallbackFailed,
}

impl Event {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Delivered => "delivered",
            Self::CallbackFailed => "callback_failed",
        }
    }
}

/// Whose, and of which model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Counted {
    pub project: ProjectId,
    pub key: KeyId,
    pub model: String,
    pub event: Event,
}

/// How often, and what it came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    pub count: u64,
    pub usage: Usage,
    pub charged: Money,
}

/// The counts of one group, to be appended with it.
#[derive(Debug, Default)]
pub struct Tally {
    counts: BTreeMap<Counted, Sum>,
}

impl Tally {
    pub fn count(&mut self, what: Counted, usage: Usage, charged: Money) {
        let sum = self.counts.entry(what).or_default();
        sum.count += 1;
        sum.usage.input_tokens = sum.usage.input_tokens.saturating_add(usage.input_tokens);
        sum.usage.output_tokens = sum.usage.output_tokens.saturating_add(usage.output_tokens);
        sum.charged = sum.charged + charged;
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Counted, Sum)> {
        self.counts.iter().map(|(what, sum)| (what, *sum))
    }
}
