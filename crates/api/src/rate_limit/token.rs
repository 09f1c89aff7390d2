//! A token taken for a load. It is returned to its bucket unless the load is stored.

use std::sync::Arc;

use domain::id::OrganizationId;
use domain::plan_limits::RateLimit;
use domain::token_bucket::BucketLevel;

use crate::rate_limit::bucket_status::BucketStatus;
use crate::rate_limit::returned_tokens::{ReturnedTokens, TokenOrigin};

#[derive(Debug)]
pub(crate) struct RateLimitToken {
    organization: OrganizationId,
    bucket_status: BucketStatus,
    /// Where the token is returned to; nothing once it is spent.
    returns_to: Option<(TokenOrigin, Arc<ReturnedTokens>)>,
}

impl RateLimitToken {
    pub(super) const fn new(
        organization: OrganizationId,
        standing: BucketStatus,
        origin: TokenOrigin,
        returns: Arc<ReturnedTokens>,
    ) -> Self {
        Self {
            organization,
            bucket_status: standing,
            returns_to: Some((origin, returns)),
        }
    }

    /// A token that was not taken from any bucket.
    pub(super) const fn without_bucket(organization: OrganizationId, rate: RateLimit) -> Self {
        let standing = BucketStatus {
            rate,
            level: BucketLevel::full(rate),
            weight: 1,
        };
        Self {
            organization,
            bucket_status: standing,
            returns_to: None,
        }
    }

    /// The bucket's status after this token was taken.
    pub(crate) const fn bucket_status(&self) -> BucketStatus {
        self.bucket_status
    }

    /// Keeps the token, because the load is stored.
    pub(crate) fn spend(mut self) {
        self.returns_to = None;
    }
}

impl Drop for RateLimitToken {
    fn drop(&mut self) {
        if let Some((origin, returns)) = self.returns_to.take() {
            returns.push(self.organization, origin, self.bucket_status.rate);
        }
    }
}
