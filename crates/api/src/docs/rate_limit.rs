//! The 429 errors of a load, and the `RateLimit-*` headers.

use domain::account::AccountRefusal;
use domain::money::Money;
use domain::organization::Plan;
use domain::plan_limits::LimitsByPlan;
use domain::time::Timestamp;
use domain::token_bucket::BucketLevel;
use utoipa::openapi::response::{Response, ResponseBuilder};

use super::responses;
use crate::rate_limit::{BackstopExceeded, BucketStatus, RateLimitExceeded};

pub(super) trait RateLimitHeaders {
    fn with_rate_limit_headers(self) -> Self;
}

impl RateLimitHeaders for ResponseBuilder {
    fn with_rate_limit_headers(self) -> Self {
        let limit = "The burst: how many loads a full bucket accepts at once.";
        let remaining = "How many loads the bucket accepts now.";
        let reset = "Seconds until the bucket is full.";
        self.header("RateLimit-Limit", responses::number_header(limit))
            .header("RateLimit-Remaining", responses::number_header(remaining))
            .header("RateLimit-Reset", responses::number_header(reset))
    }
}

pub(super) fn too_many_requests() -> Response {
    let empty = RateLimitExceeded(BucketStatus {
        rate: LimitsByPlan::default().free.rate,
        level: BucketLevel(0),
        weight: 1,
    });
    let quota = AccountRefusal::QuotaExceeded {
        monthly: 5_000_000,
        spoken_for: 4_999_000,
        required: 2_048,
        resets_at: "2026-12-01T00:00:00Z"
            .parse::<Timestamp>()
            .unwrap_or_default(),
    };
    let credit = AccountRefusal::InsufficientCredit {
        required: Money(1_250_000),
        available: Money(1_000_000),
    };
    let cap = AccountRefusal::KeySpendingCapExceeded {
        cap: Money(50_000_000_000),
        spoken_for: Money(49_999_000_000),
        required: Money(1_250_000),
        resets_at: "2026-12-01T00:00:00Z"
            .parse::<Timestamp>()
            .unwrap_or_default(),
    };
    let problems = [
        (
            "Your organization's bucket is empty",
            empty.into_api_error(Plan::Free, "https://longshore.example/plans"),
        ),
        ("The platform backstop is reached", BackstopExceeded.into()),
        ("The monthly token quota is used up", quota.into()),
        ("Not enough credit", credit.into()),
        ("The API key's monthly spending cap is reached", cap.into()),
    ];
    let wait = "Seconds until the next load is accepted. Only if the bucket is empty.";
    let since = "`requests_per_minute` is deprecated since this date. Use \
                 `sustained_requests_per_minute`.";
    responses::error_response(
        "Too many loads, or not enough quota or credit. If the bucket is empty, wait for \
         `Retry-After`. At the backstop, which has no `Retry-After`, back off exponentially. \
         Waiting does not help against the others before the month ends.",
        problems,
    )
    .header("Retry-After", responses::number_header(wait))
    .with_rate_limit_headers()
    .header("Deprecation", responses::text_header(since))
    .header(
        "Sunset",
        responses::text_header("When the field will be removed."),
    )
    .build()
}
