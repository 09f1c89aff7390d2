//! The two rate-limit errors of the contract.

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use domain::organization::Plan;
use http::{HeaderName, HeaderValue};

use crate::api_error::ApiError;
use crate::rate_limit::bucket_status::BucketStatus;

/// The project has reached the backstop of this minute or hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BackstopExceeded;

/// The organization's bucket is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateLimitExceeded(pub(crate) BucketStatus);

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");
/// `requests_per_minute` is deprecated since 15 November 2026 (format of RFC 9745),
const DEPRECATED_AT: HeaderValue = HeaderValue::from_static("@1794700800");
/// and is removed no earlier than 180 days later.
const SUNSET_AT: HeaderValue = HeaderValue::from_static("Fri, 14 May 2027 00:00:00 GMT");

impl From<BackstopExceeded> for ApiError {
    /// Without a plan and without `Retry-After`: callers use their own exponential backoff.
    fn from(_: BackstopExceeded) -> Self {
        let detail = "Too many requests from this project. Please slow down.";
        Self::with_text(StatusCode::TOO_MANY_REQUESTS, detail)
    }
}

impl RateLimitExceeded {
    pub(crate) fn into_api_error(self, plan: Plan, upgrade_url: &str) -> ApiError {
        let Self(standing) = self;
        let (burst, per_minute) = (standing.rate.burst, standing.rate.per_minute);
        let (plan, seconds) = (plan.as_str(), standing.retry_after());
        let message = format!(
            "The rate limit of the {plan} plan is exceeded: {burst} requests at once, then \
             {per_minute} per minute. Retry in {seconds} s."
        );
        let code = "rate_limit_exceeded";
        let problem = ApiError::with_code(StatusCode::TOO_MANY_REQUESTS, code, message)
            .with_field("plan", plan)
            .with_field("burst", burst)
            .with_field("sustained_requests_per_minute", per_minute)
            .with_field("requests_per_minute", per_minute)
            .with_field("retry_after_seconds", seconds)
            .with_field("upgrade_url", upgrade_url)
            .with_header(RETRY_AFTER, seconds.into())
            .with_header(DEPRECATION, DEPRECATED_AT)
            .with_header(SUNSET, SUNSET_AT);
        let headers = standing.headers().into_iter();
        headers.fold(problem, |problem, (name, value)| {
            problem.with_header(name, value)
        })
    }
}
