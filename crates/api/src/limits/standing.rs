//! How an organization's bucket stands, as its caller is told.

use domain::bucket::{Bucket, Level};
use domain::limit::Rate;
use http::{HeaderName, HeaderValue};

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) rate: Rate,
    pub(crate) level: Level,
    /// What a request takes: 1, or more while this process has only a share.
    pub(crate) weight: u32,
}

impl Standing {
    /// As if `count` requests had come back.
    pub(crate) fn with_back(self, count: u32) -> Self {
        let mut bucket = Bucket {
            level: self.level,
            at: 0,
        };
        bucket.give_back(self.rate, count, self.weight);
        Self {
            level: bucket.level,
            ..self
        }
    }

    /// Seconds until the next request would be granted.
    pub(crate) fn retry_after(self) -> u64 {
        self.level.retry_after(self.rate, self.weight)
    }

    pub(crate) fn headers(self) -> [(HeaderName, HeaderValue); 3] {
        [
            (LIMIT, HeaderValue::from(self.rate.burst)),
            (REMAINING, self.level.requests(self.weight).into()),
            (RESET, self.level.until_full(self.rate).into()),
        ]
    }
}
