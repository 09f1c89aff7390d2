//! The two refusals, as the contract answers them.

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use domain::organization::Plan;
use http::{HeaderName, HeaderValue};

use crate::limits::standing::Standing;
use crate::problem::Problem;

/// The project has loaded all that any project may in this minute or hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backstopped;

/// The organization's bucket is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Empty(pub(crate) Standing);

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");
/// `requests_per_minute` is deprecated since 15 November 2026, as RFC 9745 writes a moment,
const DEPRECATED_AT: HeaderValue = HeaderValue::from_static("@1794700800");
/// and goes no earlier than 180 days later.
const GONE_AT: HeaderValue = HeaderValue::from_static("Fri, 14 May 2027 00:00:00 GMT");

impl From<Backstopped> for Problem {
    /// No time to wait and no plan: callers back off by a schedule of their own.
    fn from(_: Backstopped) -> Self {
        let detail = "Too many requests from this project. Please slow down.";
        Self::text(StatusCode::TOO_MANY_REQUESTS, detail)
    }
}

impl Empty {
    pub(crate) fn refuse(self, plan: Plan, upgrade_url: &str) -> Problem {
        let Self(standing) = self;
        let (burst, per_minute) = (standing.rate.burst, standing.rate.per_minute);
        let (plan, seconds) = (plan.as_str(), standing.retry_after());
        let message = format!(
            "The {plan} plan takes {burst} requests at once and {per_minute} per minute. \
             Retry in {seconds} s."
        );
        let code = "rate_limit_exceeded";
        let problem = Problem::coded(StatusCode::TOO_MANY_REQUESTS, code, message)
            .with("plan", plan)
            .with("burst", burst)
            .with("sustained_requests_per_minute", per_minute)
            .with("requests_per_minute", per_minute)
            .with("retry_after_seconds", seconds)
            .with("upgrade_url", upgrade_url)
            .header(RETRY_AFTER, seconds.into())
            .header(DEPRECATION, DEPRECATED_AT)
            .header(SUNSET, GONE_AT);
        let headers = standing.headers().into_iter();
        headers.fold(problem, |problem, (name, value)| {
            problem.header(name, value)
        })
    }
}
