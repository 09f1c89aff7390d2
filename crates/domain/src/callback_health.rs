//! How the callbacks to a host fare: how attempts end, and how long they take.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::id::ProjectId;

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    Delivered,
    /// Another status than was hoped for.
    Refused,
    /// No status at all.
    Unreachable,
}

impl Ending {
    pub const ALL: [Self; 3] = [Self::Delivered, Self::Refused, Self::Unreachable];

    pub const fn of(status: Option<u16>, is_delivered: bool) -> Self {
        match (is_delivered, status) {
            (true, _) => Self::Delivered,
            (false, Some(_)) => Self::Refused,
            (false, None) => Self::Unreachable,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text)
    }
}

/// The upper bounds of all classes but the last, which has none, in milliseconds.
const BOUNDS: [u64; 9] = [50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000];

/// A class of durations, each wider than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class(u8);

impl Class {
    /// A duration on a bound is below it.
    pub fn of(took: Duration) -> Self {
        let passed = BOUNDS
            .iter()
            .take_while(|bound| took > Duration::from_millis(**bound));
        Self(u8::try_from(passed.count()).unwrap_or_default())
    }

    /// What a row says; a number that no class has is that of the last.
    pub fn from_number(number: i16) -> Self {
        let last = u8::try_from(BOUNDS.len()).unwrap_or_default();
        Self(u8::try_from(number).unwrap_or_default().min(last))
    }

    pub fn number(self) -> i16 {
        i16::from(self.0)
    }

    /// Where it begins, and where it ends unless it is the last.
    pub fn bounds(self) -> (Duration, Option<Duration>) {
        let bound = |index: usize| BOUNDS.get(index).copied().map(Duration::from_millis);
        let index = usize::from(self.0);
        let begin = index.checked_sub(1).and_then(bound);
        (begin.unwrap_or_default(), bound(index))
    }
}

/// How many attempts took how long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latencies(BTreeMap<Class, u64>);

impl Latencies {
    pub fn add(&mut self, class: Class, count: u64) {
        let sum = self.0.entry(class).or_default();
        *sum = sum.saturating_add(count);
    }

    /// So much that `percent` of them took no longer, as if each class were evenly filled. What
    /// lies in the last one took at least what is told.
    pub fn percentile(&self, percent: u32) -> Option<Duration> {
        let total: u64 = self.0.values().sum();
        let rank = (u128::from(total) * u128::from(percent.min(100))).div_ceil(100);
        let rank = u64::try_from(rank.max(1)).ok()?;
        let mut below = 0;
        for (class, count) in &self.0 {
            if below + count >= rank {
                let (begin, end) = class.bounds();
                let width = end.map_or(Duration::ZERO, |end| end.saturating_sub(begin));
                let share = u32::try_from((rank - below).saturating_mul(1000) / count).ok()?;
                return Some(begin + width * share / 1000);
            }
            below += count;
        }
        None
    }
}

/// The attempts of one group, to be appended with it.
#[derive(Debug, Default)]
pub struct Tally(BTreeMap<Attempts, u64>);

/// Attempts that are counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attempts {
    pub project: ProjectId,
    pub host: String,
    pub ending: Ending,
    pub class: Class,
}

impl Tally {
    pub fn count(&mut self, attempt: Attempts) {
        *self.0.entry(attempt).or_default() += 1;
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Attempts, u64)> {
        self.0.iter().map(|(attempts, count)| (attempts, *count))
    }
}

#[cfg(test)]
mod tests;
