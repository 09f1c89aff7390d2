//! The 429s of load, and the headers that tell how the bucket stands.

use domain::account::AccountRefusal;
use domain::bucket::Level;
use domain::limit::Limits;
use domain::money::Money;
use domain::organization::Plan;
use domain::time::Timestamp;
use utoipa::openapi::response::{Response, ResponseBuilder};

use super::answer;
use crate::limits::{Backstopped, Empty, Standing};

pub(super) trait Limited {
    fn limited(self) -> Self;
}

impl Limited for ResponseBuilder {
    fn limited(self) -> Self {
        let limit = "The burst: how many loads a full bucket takes at once.";
        let remaining = "How many loads it takes now.";
        let reset = "Seconds until it is full.";
        self.header("RateLimit-Limit", answer::number_header(limit))
            .header("RateLimit-Remaining", answer::number_header(remaining))
            .header("RateLimit-Reset", answer::number_header(reset))
    }
}

pub(super) fn too_many() -> Response {
    let empty = Empty(Standing {
        rate: Limits::default().free.rate,
        level: Level(0),
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
    let problems = [
        (
            "Your organization's bucket is empty",
            empty.refuse(Plan::Free, "https://longshore.example/plans"),
        ),
        ("The platform's backstop", Backstopped.into()),
        ("The month's tokens are used up", quota.into()),
        ("Credit is too small", credit.into()),
    ];
    let wait = "Seconds until the next load is accepted. Only when the bucket is empty.";
    let since = "`requests_per_minute` is deprecated since then: read \
                 `sustained_requests_per_minute`.";
    answer::refusal(
        "Too many loads, or too little quota or credit. Only the first of these passes by waiting \
         a moment; the second has no time to wait: back off exponentially.",
        problems,
    )
    .header("Retry-After", answer::number_header(wait))
    .limited()
    .header("Deprecation", answer::text_header(since))
    .header("Sunset", answer::text_header("When it will be gone."))
    .build()
}
