//! Tokens by what they cost: every token of a request and its answer is in exactly one bucket.

use serde::{Deserialize, Serialize};

/// The contract's two counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// The buckets are disjoint. Thoughts are counted in `output` and, for information, once more in
/// `thinking`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenBuckets {
    /// Input that was neither read from nor written to a cache.
    pub fresh: u64,
    /// Input read from a cache.
    pub cached: u64,
    /// Input written to a cache for minutes.
    pub cache_write: u64,
    /// Input written to a cache for an hour or longer.
    pub cache_write_1h: u64,
    /// Output with thoughts.
    pub output: u64,
    /// The part of `output` that is thoughts.
    pub thinking: u64,
}

impl TokenUsage {
    pub const fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl TokenBuckets {
    /// Usage of a provider that reports totals only.
    pub const fn plain(usage: TokenUsage) -> Self {
        Self {
            fresh: usage.input_tokens,
            cached: 0,
            cache_write: 0,
            cache_write_1h: 0,
            output: usage.output_tokens,
            thinking: 0,
        }
    }

    pub const fn input_total(self) -> u64 {
        self.fresh
            .saturating_add(self.cached)
            .saturating_add(self.cache_write)
            .saturating_add(self.cache_write_1h)
    }

    /// What was written to a cache, for however long.
    pub const fn written(self) -> u64 {
        self.cache_write.saturating_add(self.cache_write_1h)
    }

    /// The contract's two counts.
    pub const fn totals(self) -> TokenUsage {
        TokenUsage {
            input_tokens: self.input_total(),
            output_tokens: self.output,
        }
    }

    pub const fn total(self) -> u64 {
        self.totals().total()
    }
}

/// Bucket by bucket.
impl std::ops::Add for TokenBuckets {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            fresh: self.fresh.saturating_add(other.fresh),
            cached: self.cached.saturating_add(other.cached),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cache_write_1h: self.cache_write_1h.saturating_add(other.cache_write_1h),
            output: self.output.saturating_add(other.output),
            thinking: self.thinking.saturating_add(other.thinking),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_bucket_is_input_and_thoughts_are_output() {
        let used = TokenBuckets {
            fresh: 1,
            cached: 20,
            cache_write: 300,
            cache_write_1h: 4000,
            output: 50_000,
            thinking: 40_000,
        };
        let totals = TokenUsage {
            input_tokens: 4321,
            output_tokens: 50_000,
        };
        assert_eq!((used.totals(), used.total()), (totals, 54_321));
        assert_eq!(used.written(), 4300);
        assert_eq!(TokenBuckets::plain(totals).totals(), totals);
        assert_eq!((used + used).total(), 2 * 54_321);
    }
}
