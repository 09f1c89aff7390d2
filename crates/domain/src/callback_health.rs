//! Callback health by host: results and latency of the attempts.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::id::ProjectId;

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallbackAttemptResult {
    Delivered,
    /// The receiver answered with another status than 2xx.
    Refused,
    /// The receiver sent no status.
    Unreachable,
}

impl CallbackAttemptResult {
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

/// The upper bounds of the buckets. The last bucket has none.
const BUCKET_BOUNDS_MS: [u64; 9] = [50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000];

/// A histogram bucket of durations. Each is wider than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LatencyBucket(u8);

impl LatencyBucket {
    /// A duration equal to a bound belongs to the lower bucket.
    pub fn of(took: Duration) -> Self {
        let passed = BUCKET_BOUNDS_MS
            .iter()
            .take_while(|bound| took > Duration::from_millis(**bound));
        Self(u8::try_from(passed.count()).unwrap_or_default())
    }

    /// Reads the number in a row. A number above the last bucket becomes the last bucket.
    pub fn from_number(number: i16) -> Self {
        let last = u8::try_from(BUCKET_BOUNDS_MS.len()).unwrap_or_default();
        Self(u8::try_from(number).unwrap_or_default().min(last))
    }

    pub fn number(self) -> i16 {
        i16::from(self.0)
    }

    /// The lower and the upper bound. The last bucket has no upper bound.
    pub fn bounds(self) -> (Duration, Option<Duration>) {
        let bound = |index: usize| {
            BUCKET_BOUNDS_MS
                .get(index)
                .copied()
                .map(Duration::from_millis)
        };
        let index = usize::from(self.0);
        let begin = index.checked_sub(1).and_then(bound);
        (begin.unwrap_or_default(), bound(index))
    }
}

/// How many attempts took how long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LatencyHistogram(BTreeMap<LatencyBucket, u64>);

impl LatencyHistogram {
    pub fn add(&mut self, class: LatencyBucket, count: u64) {
        let sum = self.0.entry(class).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Estimates a percentile, as if the durations were spread evenly in each bucket. In the last
    /// bucket the estimate is its lower bound.
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

/// The attempts of one group, counted; they are appended together with the group.
#[derive(Debug, Default)]
pub struct CallbackTally(BTreeMap<CallbackTallyKey, u64>);

/// What attempts are counted by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallbackTallyKey {
    pub project: ProjectId,
    pub host: String,
    pub result: CallbackAttemptResult,
    pub latency: LatencyBucket,
}

impl CallbackTally {
    pub fn count(&mut self, attempt: CallbackTallyKey) {
        *self.0.entry(attempt).or_default() += 1;
    }

    pub fn iter(&self) -> impl Iterator<Item = (&CallbackTallyKey, u64)> {
        self.0.iter().map(|(attempts, count)| (attempts, *count))
    }
}

#[cfg(test)]
mod tests;
