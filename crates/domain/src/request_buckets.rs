//! A token bucket for each caller, in the memory of one process: so many requests per minute.

use std::hash::Hash;

use parking_lot::Mutex;
use quick_cache::unsync::Cache;

use crate::plan_limits::RateLimit;
use crate::token_bucket::TokenBucket;

/// How many buckets are remembered. Unused ones are evicted first.
const MAX_REMEMBERED_BUCKETS: usize = 100_000;

#[derive(Debug)]
pub struct RequestBuckets<K> {
    rate: RateLimit,
    buckets: Mutex<Cache<K, TokenBucket>>,
}

/// The caller has sent too many requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimitExceeded {
    pub retry_after_seconds: u64,
}

impl<K: Eq + Hash> RequestBuckets<K> {
    /// A minute's requests may come at once.
    pub fn new(per_minute: u32) -> Self {
        Self::with_rate(RateLimit {
            burst: per_minute,
            per_minute,
        })
    }

    pub fn with_rate(rate: RateLimit) -> Self {
        Self {
            rate,
            buckets: Mutex::new(Cache::new(MAX_REMEMBERED_BUCKETS)),
        }
    }

    /// Counts a request. `now` is in microseconds of one clock.
    pub fn take(&self, caller: K, now: i64) -> Result<(), RequestLimitExceeded> {
        let mut buckets = self.buckets.lock();
        let known = buckets.get(&caller).copied();
        let mut bucket = known.unwrap_or_else(|| TokenBucket::full(self.rate, now));
        bucket.refill(self.rate, now);
        let granted = bucket.take(1, 1);
        buckets.insert(caller, bucket);
        drop(buckets);
        if granted == 1 {
            return Ok(());
        }
        Err(RequestLimitExceeded {
            retry_after_seconds: bucket.level.retry_after(self.rate, 1),
        })
    }
}
