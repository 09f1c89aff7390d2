//! What happened, counted: the rows from which histograms and usage are read.

use std::collections::BTreeMap;

use crate::id::{KeyId, ProjectId};
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

/// The counts of one group, to be appended with it.
#[derive(Debug, Default)]
pub struct Tally {
    counts: BTreeMap<Counted, (u64, Usage)>,
}

impl Tally {
    pub fn count(&mut self, what: Counted, usage: Usage) {
        let (count, sum) = self.counts.entry(what).or_default();
        *count += 1;
        sum.input_tokens += usage.input_tokens;
        sum.output_tokens += usage.output_tokens;
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Counted, u64, Usage)> {
        self.counts
            .iter()
            .map(|(what, (count, usage))| (what, *count, *usage))
    }
}
