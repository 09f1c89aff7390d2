//! The result of a check: a token, or an error. Both have the status of the bucket.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use domain::id::OrganizationId;
use domain::organization::Plan;
use domain::plan_limits::RateLimit;
use domain::token_bucket::{BucketLevel, TokenBucket};
use http::{HeaderName, HeaderValue};

use crate::api_error::{ApiError, ErrorCode};
use crate::rate_limit::unsynced_tokens::{ReturnedTokens, TokenOrigin};

const LIMIT_HEADER: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING_HEADER: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET_HEADER: HeaderName = HeaderName::from_static("ratelimit-reset");
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");
/// `requests_per_minute` is deprecated since 15 November 2026 (format of RFC 9745),
const DEPRECATED_AT: HeaderValue = HeaderValue::from_static("@1794700800");
/// and is removed no earlier than 180 days later.
const SUNSET_AT: HeaderValue = HeaderValue::from_static("Fri, 14 May 2027 00:00:00 GMT");

/// The status of an organization's bucket, as the `RateLimit-*` headers show it.
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
        let Self {
            rate,
            level,
            weight,
        } = self;
        let mut bucket = TokenBucket { level, at: 0 };
        bucket.refund(rate, count, weight);
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
            (LIMIT_HEADER, self.rate.burst.into()),
            (REMAINING_HEADER, self.level.requests(self.weight).into()),
            (RESET_HEADER, self.level.until_full(self.rate).into()),
        ]
    }
}

/// A token taken for a load. It is returned to its bucket unless the load is stored.
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
        bucket_status: BucketStatus,
        origin: TokenOrigin,
        returns: Arc<ReturnedTokens>,
    ) -> Self {
        Self {
            organization,
            bucket_status,
            returns_to: Some((origin, returns)),
        }
    }

    /// A token that was not taken from any bucket.
    pub(crate) const fn without_bucket(organization: OrganizationId, rate: RateLimit) -> Self {
        let bucket_status = BucketStatus {
            rate,
            level: BucketLevel::full(rate),
            weight: 1,
        };
        Self {
            organization,
            bucket_status,
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

/// The project has reached the backstop of this minute or hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BackstopExceeded;

impl From<BackstopExceeded> for ApiError {
    /// Without a plan and without `Retry-After`: callers use their own exponential backoff.
    fn from(_: BackstopExceeded) -> Self {
        let detail = "Too many requests from this project. Please slow down.";
        Self::with_text(StatusCode::TOO_MANY_REQUESTS, detail)
    }
}

/// The organization's bucket is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateLimitExceeded(pub(crate) BucketStatus);

impl RateLimitExceeded {
    pub(crate) fn into_api_error(self, plan: Plan, upgrade_url: &str) -> ApiError {
        let Self(status) = self;
        let (burst, per_minute) = (status.rate.burst, status.rate.per_minute);
        let (plan, seconds) = (plan.as_str(), status.retry_after());
        let message = format!(
            "The rate limit of the {plan} plan is exceeded: {burst} requests at once, then \
             {per_minute} per minute. Retry in {seconds} s."
        );
        let problem = ApiError::with_code(ErrorCode::RateLimitExceeded, message)
            .with_field("plan", plan)
            .with_field("burst", burst)
            .with_field("sustained_requests_per_minute", per_minute)
            .with_field("requests_per_minute", per_minute)
            .with_field("retry_after_seconds", seconds)
            .with_field("upgrade_url", upgrade_url)
            .with_header(RETRY_AFTER, seconds.into())
            .with_header(DEPRECATION, DEPRECATED_AT)
            .with_header(SUNSET, SUNSET_AT);
        let headers = status.headers().into_iter();
        headers.fold(problem, |problem, (name, value)| {
            problem.with_header(name, value)
        })
    }
}
