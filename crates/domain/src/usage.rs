//! Counts of events: charts and usage are read from them.

use std::collections::BTreeMap;

use crate::id::{ApiKeyId, ProjectId};
use crate::money::Money;
use crate::saving::Saving;
use crate::token_buckets::TokenBuckets;

/// An event that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UsageEvent {
    Loaded,
    Succeeded,
    Failed,
    /// Not among the failed.
    Cancelled,
    Delivered,
    CallbackFailed,
}

impl UsageEvent {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Delivered => "delivered",
            Self::CallbackFailed => "callback_failed",
        }
    }
}

/// What events are counted by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UsageKey {
    pub project: ProjectId,
    pub key: ApiKeyId,
    pub model: String,
    pub event: UsageEvent,
}

/// Tokens, charge, cost and saving of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageAmounts {
    pub usage: TokenBuckets,
    pub charged: Money,
    /// What providers bill us; zero where it is not known.
    pub cost: Money,
    /// Zero where no realtime price is known.
    pub saving: Saving,
}

/// The number of events, and the sum of their amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageSum {
    pub count: u64,
    pub amounts: UsageAmounts,
}

/// The counts of one group; they are appended together with the group.
#[derive(Debug, Default)]
pub struct UsageTally {
    counts: BTreeMap<UsageKey, UsageSum>,
}

impl UsageTally {
    pub fn count(&mut self, what: UsageKey, work: UsageAmounts) {
        let UsageSum {
            count,
            amounts: sum,
        } = self.counts.entry(what).or_default();
        *count += 1;
        sum.usage = sum.usage + work.usage;
        sum.charged = sum.charged + work.charged;
        sum.cost = sum.cost + work.cost;
        sum.saving = sum.saving + work.saving;
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&UsageKey, UsageSum)> {
        self.counts.iter().map(|(what, sum)| (what, *sum))
    }
}
