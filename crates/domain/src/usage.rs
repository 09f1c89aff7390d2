//! What happened, counted: the rows from which histograms and usage are read.

use std::collections::BTreeMap;

use crate::id::{KeyId, ProjectId};
use crate::money::Money;
use crate::outcome::Usage;
use crate::saving::Saving;

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

/// What something came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    pub usage: Usage,
    pub charged: Money,
    /// Nothing where no realtime price is known.
    pub saving: Saving,
}

/// How often, and what it came to together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    pub count: u64,
    pub work: Work,
}

/// The counts of one group, to be appended with it.
#[derive(Debug, Default)]
pub struct Tally {
    counts: BTreeMap<Counted, Sum>,
}

impl Tally {
    pub fn count(&mut self, what: Counted, work: Work) {
        let Sum { count, work: sum } = self.counts.entry(what).or_default();
        *count += 1;
        let (used, more) = (&mut sum.usage, work.usage);
        used.input_tokens = used.input_tokens.saturating_add(more.input_tokens);
        used.output_tokens = used.output_tokens.saturating_add(more.output_tokens);
        sum.charged = sum.charged + work.charged;
        sum.saving = sum.saving + work.saving;
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Counted, Sum)> {
        self.counts.iter().map(|(what, sum)| (what, *sum))
    }
}
