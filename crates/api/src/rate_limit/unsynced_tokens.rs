//! Tokens that Redis does not know about yet: returned ones, and those spent without Redis.

use std::collections::HashMap;

use domain::id::OrganizationId;
use domain::plan_limits::RateLimit;
use outbound::rate_limits::{BucketRequest, RateLimitRequest, RateLimitResponse};

/// Further organizations are not recorded while Redis is unreachable.
const MAX_ORGANIZATIONS: usize = 200_000;
/// How many organizations without a check of their own are added to one call.
const MAX_OTHER_ORGANIZATIONS_PER_CALL: usize = 256;

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
        if let Some(untold) = self.deltas.get_mut(&organization) {
            let cancelled = untold.owed.min(count);
            untold.owed -= cancelled;
            left -= cancelled;
            if untold.owed == 0 && untold.returned == 0 {
                self.deltas.remove(&organization);
            }
        }
        self.add_returned(organization, rate, left);
    }

    /// Adds the unsynced tokens of the request's organizations to it, and those of other
    /// organizations as far as there is room.
    pub(super) fn attach_to(&mut self, request: &mut RateLimitRequest) {
        if self.deltas.is_empty() {
            return;
        }
        for ask in &mut request.buckets {
            if let Some(untold) = self.deltas.remove(&ask.organization) {
                (ask.returned, ask.owed) = (untold.returned, untold.owed);
            }
        }
        let others: Vec<_> = self
            .deltas
            .keys()
            .take(MAX_OTHER_ORGANIZATIONS_PER_CALL)
            .copied()
            .collect();
        for organization in others {
            if let Some(untold) = self.deltas.remove(&organization) {
                request.buckets.push(BucketRequest {
                    organization,
                    rate: untold.rate,
                    requested: 0,
                    returned: untold.returned,
                    owed: untold.owed,
                });
            }
        }
    }

    /// Takes the tokens back from a request that Redis did not apply.
    pub(super) fn restore(&mut self, request: &RateLimitRequest) {
        for ask in &request.buckets {
            self.add(ask.organization, ask.rate, ask.returned, ask.owed);
        }
    }

    /// Redis applied the request after the timeout. Local buckets had granted the tokens already,
    /// so those that Redis granted are returned.
    pub(super) fn return_late_grants(
        &mut self,
        request: &RateLimitRequest,
        grants: &RateLimitResponse,
    ) {
        for (ask, taken) in request.buckets.iter().zip(&grants.buckets) {
            self.add_returned(ask.organization, ask.rate, taken.granted);
        }
    }

    fn add(&mut self, organization: OrganizationId, rate: RateLimit, given_back: u32, owed: u32) {
        if given_back == 0 && owed == 0 {
            return;
        }
        if self.deltas.len() >= MAX_ORGANIZATIONS && !self.deltas.contains_key(&organization) {
            return;
        }
        let nothing = TokenDelta {
            rate,
            returned: 0,
            owed: 0,
        };
        let untold = self.deltas.entry(organization).or_insert(nothing);
        untold.rate = rate;
        untold.returned = untold.returned.saturating_add(given_back);
        untold.owed = untold.owed.saturating_add(owed);
    }
}
