//! Tokens on their way to Redis: those that were returned, and those spent without Redis.
//!
//! Dropping a token adds it to [`ReturnedTokens`]. The limiter task collects them in
//! [`UnsyncedTokens`] and reports them with its next call.

use std::collections::HashMap;

use domain::id::OrganizationId;
use domain::plan_limits::RateLimit;
use outbound::rate_limits::{BucketRequest, RateLimitRequest, RateLimitResponse};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Further organizations are not recorded while Redis is unreachable.
const MAX_ORGANIZATIONS: usize = 200_000;
/// How many organizations without a check of their own are added to one call.
const MAX_OTHER_ORGANIZATIONS_PER_CALL: usize = 256;

/// Where a token was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TokenOrigin {
    Redis,
    /// A bucket in this process.
    Local,
}

/// How many tokens of a bucket were returned, and the bucket's last known rate.
type TokenCounts = HashMap<(OrganizationId, TokenOrigin), (RateLimit, u32)>;

/// One entry for each organization and origin, so the number of loads in flight bounds it.
#[derive(Debug, Default)]
pub(super) struct ReturnedTokens {
    tokens: Mutex<TokenCounts>,
    token_added: Notify,
}

impl ReturnedTokens {
    pub(super) fn push(&self, organization: OrganizationId, origin: TokenOrigin, rate: RateLimit) {
        let mut tokens = self.tokens.lock();
        let entry = tokens.entry((organization, origin)).or_insert((rate, 0));
        *entry = (rate, entry.1.saturating_add(1));
        drop(tokens);
        self.token_added.notify_one();
    }

    pub(super) fn drain(&self) -> TokenCounts {
        std::mem::take(&mut *self.tokens.lock())
    }

    /// Waits until a token was returned since the last wait.
    pub(super) async fn wait(&self) {
        self.token_added.notified().await;
    }
}

/// What Redis does not know about yet, by organization.
#[derive(Debug, Default)]
pub(super) struct UnsyncedTokens {
    deltas: HashMap<OrganizationId, TokenDelta>,
}

#[derive(Debug, Clone, Copy)]
struct TokenDelta {
    rate: RateLimit,
    returned: u32,
    owed: u32,
}

impl UnsyncedTokens {
    pub(super) fn is_empty(&self) -> bool {
        self.deltas.is_empty()
    }

    /// Tokens that were taken from Redis and not spent.
    pub(super) fn add_returned(
        &mut self,
        organization: OrganizationId,
        rate: RateLimit,
        count: u32,
    ) {
        self.add(organization, rate, count, 0);
    }

    /// Tokens that were taken from a local bucket.
    pub(super) fn add_spent(&mut self, organization: OrganizationId, rate: RateLimit, count: u32) {
        self.add(organization, rate, 0, count);
    }

    /// Tokens that were taken from a local bucket and not spent. Those already reported to Redis
    /// are returned to it.
    pub(super) fn cancel_spent(
        &mut self,
        organization: OrganizationId,
        rate: RateLimit,
        count: u32,
    ) {
        let mut left = count;
        if let Some(delta) = self.deltas.get_mut(&organization) {
            let cancelled = delta.owed.min(count);
            delta.owed -= cancelled;
            left -= cancelled;
            if delta.owed == 0 && delta.returned == 0 {
                self.deltas.remove(&organization);
            }
        }
        self.add_returned(organization, rate, left);
    }

    /// Adds the unsynced tokens of the request's organizations to it, and those of other
    /// organizations as far as there is room.
    pub(super) fn attach_to(&mut self, request: &mut RateLimitRequest) {
        for bucket in &mut request.buckets {
            if let Some(delta) = self.deltas.remove(&bucket.organization) {
                (bucket.returned, bucket.owed) = (delta.returned, delta.owed);
            }
        }
        let others = self.deltas.extract_if(|_, _| true);
        let others = others.take(MAX_OTHER_ORGANIZATIONS_PER_CALL);
        request
            .buckets
            .extend(others.map(|(organization, delta)| BucketRequest {
                organization,
                rate: delta.rate,
                requested: 0,
                returned: delta.returned,
                owed: delta.owed,
            }));
    }

    /// Takes the tokens back from a request that Redis did not apply.
    pub(super) fn restore(&mut self, request: &RateLimitRequest) {
        for bucket in &request.buckets {
            self.add(
                bucket.organization,
                bucket.rate,
                bucket.returned,
                bucket.owed,
            );
        }
    }

    /// Redis applied the request after the timeout. Local buckets had granted the tokens already,
    /// so those that Redis granted are returned.
    pub(super) fn return_late_grants(
        &mut self,
        request: &RateLimitRequest,
        grants: &RateLimitResponse,
    ) {
        for (bucket, grant) in request.buckets.iter().zip(&grants.buckets) {
            self.add_returned(bucket.organization, bucket.rate, grant.granted);
        }
    }

    fn add(&mut self, organization: OrganizationId, rate: RateLimit, returned: u32, owed: u32) {
        if returned == 0 && owed == 0 {
            return;
        }
        if self.deltas.len() >= MAX_ORGANIZATIONS && !self.deltas.contains_key(&organization) {
            return;
        }
        let none = TokenDelta {
            rate,
            returned: 0,
            owed: 0,
        };
        let delta = self.deltas.entry(organization).or_insert(none);
        delta.rate = rate;
        delta.returned = delta.returned.saturating_add(returned);
        delta.owed = delta.owed.saturating_add(owed);
    }
}
