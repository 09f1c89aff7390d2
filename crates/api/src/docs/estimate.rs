//! `POST /cargo/estimate`.

use domain::key_scope::KeyRight;
use domain::load_estimate::{CostRange, LoadEstimate, TokenRange};
use domain::money::Money;
use domain::request_buckets::RequestLimitExceeded;
use domain::time::Timestamp;
use domain::token_buckets::TokenUsage;
use serde_json::json;
use utoipa::openapi::path::{Operation, OperationBuilder};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::response::Response;
use wire::bulk::RefusedItem;
use wire::estimate::{EstimateRequest, EstimateResponse, EstimatedTurnaroundBody};
use wire::timestamp::WireTimestamp;

use super::load_bodies;
use super::responses::{self, AuthenticatedOperation as _};
use crate::api_error::ApiError;

const DESCRIPTION: &str = "The body of `POST /cargo/load` or of `POST /cargo/bulk`. Every check of a load is made, also of \
     its files. Nothing is stored, and no token of the rate limit is spent. `faults` has what \
     `POST /cargo/load` would answer to loads that it would refuse; all other figures are of the \
     other loads. The figures are learned from recent successful cargo of the same model, of your \
     project or else of your organization: with fewer than 20 samples they are null, and only the \
     bounds are stated. At most 10 estimates per second and organization.";

pub(super) fn operation() -> Operation {
    let exceeded = RequestLimitExceeded {
        retry_after_seconds: 1,
    };
    let limited = [("Too many", exceeded.into())];
    let operation = OperationBuilder::new()
        .tag("Cargo")
        .operation_id(Some("estimate"))
        .summary(Some("Estimate cost and time of loads"))
        .description(Some(DESCRIPTION))
        .request_body(Some(request_body()))
        .response("200", estimate_response())
        .response(
            "429",
            responses::rate_limited_response(responses::error_response(
                responses::RATE_LIMITED,
                limited,
            )),
        );
    let fault = "invalid type: integer `1`, expected an array of loads at line 1 column 10";
    load_bodies::with_body_errors(operation, "`cargo` is not an array", fault)
        .with_common_errors(KeyRight::Load)
        .build()
}

fn request_body() -> RequestBody {
    let load = json!({"params": {
        "model": "svc-mock", "max_tokens": 64,
        "messages": [{"role": "user", "content": "Say hello to the world."}],
    }});
    let examples = [
        ("One load", load.clone()),
        ("Two loads", json!({"cargo": [load.clone(), load.clone()]})),
    ];
    load_bodies::request_body(responses::json_content::<EstimateRequest>(examples), load)
}

fn example_moment(text: &str) -> Timestamp {
    text.parse().unwrap_or_default()
}

fn example() -> EstimateResponse {
    let estimate = LoadEstimate {
        hold: Money(57_150_000),
        bounds: TokenUsage {
            input_tokens: 310_000,
            output_tokens: 640_000,
        },
        samples: 500,
        since: Some(example_moment("2026-11-14T07:12:44Z")),
        cost: Some(CostRange {
            low: Money(18_100_000),
            likely: Money(21_900_000),
            high: Money(25_700_000),
        }),
        realtime: Some(Money(43_800_000)),
        tokens: Some(TokenRange {
            likely_input: 84_000,
            output_p10: 131_000,
            output_p50: 150_000,
            output_p90: 169_000,
        }),
    };
    let fault = ApiError::validation_at(
        ["body", "params"],
        "max_tokens is required for chat requests",
    );
    EstimateResponse {
        items: 1000,
        faults: vec![RefusedItem {
            index: 17,
            status: fault.status().as_u16(),
            detail: fault.into_body().detail,
            retry_after_seconds: None,
        }],
        hold: (&estimate).into(),
        cost: (&estimate).into(),
        tokens: (&estimate).into(),
        turnaround: EstimatedTurnaroundBody {
            p50_seconds: Some(660),
            p90_seconds: Some(1140),
            expected_at: Some(WireTimestamp(example_moment("2026-11-15T09:41:30Z"))),
            loading_seconds: 0,
        },
        based_on: (&estimate).into(),
        refused_by: None,
        balance_after_hold: Some(41_600_000_000),
    }
}

fn estimate_response() -> Response {
    responses::json_response::<EstimateResponse>(
        "The estimate. Nothing was stored.",
        [(
            "A thousand loads, one with a fault",
            responses::to_json(&example()),
        )],
    )
    .build()
}
