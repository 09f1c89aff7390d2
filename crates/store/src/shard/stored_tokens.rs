//! The columns of an outcome that store its tokens.

use domain::outcome::TokenUsage;
use domain::token_buckets::TokenBuckets;

/// Input and output are totals; the others are parts of them. An earlier version stored no parts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StoredTokens {
    pub(crate) input: Option<i64>,
    pub(crate) cached: Option<i64>,
    pub(crate) cache_write: Option<i64>,
    pub(crate) cache_write_1h: Option<i64>,
    pub(crate) output: Option<i64>,
    pub(crate) thinking: Option<i64>,
}

impl StoredTokens {
    pub(crate) fn usage(self) -> TokenUsage {
        TokenUsage {
            input_tokens: unsigned(self.input),
            output_tokens: unsigned(self.output),
        }
    }

    pub(crate) fn buckets(self) -> TokenBuckets {
        let parts = TokenBuckets {
            fresh: 0,
            cached: unsigned(self.cached),
            cache_write: unsigned(self.cache_write),
            cache_write_1h: unsigned(self.cache_write_1h),
            output: unsigned(self.output),
            thinking: unsigned(self.thinking),
        };
        TokenBuckets {
            fresh: unsigned(self.input).saturating_sub(parts.input_total()),
            ..parts
        }
    }
}

fn unsigned(count: Option<i64>) -> u64 {
    count
        .and_then(|count| u64::try_from(count).ok())
        .unwrap_or_default()
}
