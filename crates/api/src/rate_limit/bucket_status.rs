//! The status of an organization's bucket, as the `RateLimit-*` headers show it.

use domain::plan_limits::RateLimit;
use domain::token_bucket::{BucketLevel, TokenBucket};
use http::{HeaderName, HeaderValue};

const LIMIT_HEADER: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING_HEADER: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET_HEADER: HeaderName = HeaderName::from_static("ratelimit-reset");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BucketStatus {
    pub(crate) rate: RateLimit,
    pub(crate) level: BucketLevel,
    /// How many tokens a request takes: 1, or more while this process has only a share.
    pub(crate) weight: u32,
}

impl BucketStatus {
    /// The status after `count` tokens are returned.
    pub(crate) fn with_returned(self, count: u32) -> Self {
        let mut bucket = TokenBucket {
            level: self.level,
            at: 0,
        };
        bucket.refund(self.rate, count, self.weight);
        Self {
            level: bucket.level,
            ..self
        }
    }

    /// Seconds until the next request is granted.
    pub(crate) fn retry_after(self) -> u64 {
        self.level.retry_after(self.rate, self.weight)
    }

    pub(crate) fn headers(self) -> [(HeaderName, HeaderValue); 3] {
        [
            (LIMIT_HEADER, HeaderValue::from(self.rate.burst)),
            (REMAINING_HEADER, self.level.requests(self.weight).into()),
            (RESET_HEADER, self.level.until_full(self.rate).into()),
        ]
    }
}
