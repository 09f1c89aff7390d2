//! The buckets of this process, used without Redis: each node grants its share of the limit.
//!
//! A request weighs as much as there are nodes, so burst and refill are divided
//! without a remainder. A bucket starts at the level that Redis last reported.

use domain::fixed_window::FixedWindows;
use domain::id::{OrganizationId, ProjectId};
use domain::plan_limits::RateLimit;
use domain::token_bucket::{BucketLevel, TokenBucket};
use outbound::rate_limits::{BucketResponse, RateLimitRequest, RateLimitResponse};
use quick_cache::unsync::Cache;

/// How many organizations, and how many projects, are remembered. Unused ones are evicted first.
const MAX_REMEMBERED_OWNERS: usize = 100_000;

#[derive(Debug)]
pub(super) struct LocalBuckets {
    buckets: Cache<OrganizationId, TokenBucket>,
    windows: Cache<ProjectId, FixedWindows>,
}

impl Default for LocalBuckets {
    fn default() -> Self {
        Self {
            buckets: Cache::new(MAX_REMEMBERED_OWNERS),
            windows: Cache::new(MAX_REMEMBERED_OWNERS),
        }
    }
}

/// The weight of a request. A share of less than one request would never grant any.
pub(super) fn request_weight(nodes: u32, rate: RateLimit) -> u32 {
    nodes.min(rate.burst).max(1)
}

impl LocalBuckets {
    /// Stores the level that Redis reported.
    pub(super) fn set_level(&mut self, organization: OrganizationId, level: BucketLevel, now: i64) {
        let bucket = TokenBucket { level, at: now };
        self.buckets.insert(organization, bucket);
    }

    pub(super) fn grant(
        &mut self,
        request: &RateLimitRequest,
        nodes: u32,
        now: i64,
    ) -> RateLimitResponse {
        let buckets = request.buckets.iter().map(|check| {
            let mut bucket = self.refilled_bucket(check.organization, check.rate, now);
            let granted = bucket.take(check.requested, request_weight(nodes, check.rate));
            self.buckets.insert(check.organization, bucket);
            let level = bucket.level;
            BucketResponse { granted, level }
        });
        let buckets = buckets.collect();
        let windows = request.windows.iter().map(|check| {
            let known = self.windows.get(&check.project).copied();
            let mut windows = known.unwrap_or_default();
            let granted = windows.admit(check.backstop, check.requested, nodes, now);
            self.windows.insert(check.project, windows);
            granted
        });
        RateLimitResponse {
            buckets,
            windows: windows.collect(),
        }
    }

    pub(super) fn return_tokens(
        &mut self,
        organization: OrganizationId,
        rate: RateLimit,
        count: u32,
        nodes: u32,
        now: i64,
    ) {
        let mut bucket = self.refilled_bucket(organization, rate, now);
        bucket.refund(rate, count, request_weight(nodes, rate));
        self.buckets.insert(organization, bucket);
    }

    fn refilled_bucket(
        &self,
        organization: OrganizationId,
        rate: RateLimit,
        now: i64,
    ) -> TokenBucket {
        let known = self.buckets.get(&organization).copied();
        let mut bucket = known.unwrap_or_else(|| TokenBucket::full(rate, now));
        bucket.refill(rate, now);
        bucket
    }
}
