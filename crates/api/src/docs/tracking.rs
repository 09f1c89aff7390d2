//! `GET /cargo/{cargo_id}/tracking`.

use axum::http::HeaderMap;
use domain::key_scope::KeyRight;
use domain::request_buckets::RequestLimitExceeded;
use utoipa::openapi::Required;
use utoipa::openapi::path::{
    Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn,
};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::examples;
use super::responses::{self, AuthenticatedOperation as _};
use super::wait;
use crate::api_error::ApiError;
use crate::wait_query::parse_wait;

/// The cargo of a path.
pub(super) fn cargo_id() -> Parameter {
    ParameterBuilder::new()
        .name("cargo_id")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("The id that load returned."))
        .schema(Some(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .pattern(Some("^crg_[0-9a-f]{32}$")),
        ))
        .build()
}

pub(super) fn operation() -> Operation {
    let records = [
        ("Delivered", responses::to_json(&examples::delivered())),
        ("Pending", responses::to_json(&examples::pending())),
        (
            "Failed, without a callback",
            responses::to_json(&examples::failed()),
        ),
    ];
    let not_found = [(
        "Unknown, or of another project",
        ApiError::cargo_not_found(),
    )];
    let wrong = "/?wait=61&until=sent".parse().unwrap_or_default();
    let wrong = parse_wait(&wrong, &HeaderMap::new()).err();
    let wrong = wrong.map(|wrong| ("Several at once", wrong));
    let [wait, until, prefer] = wait::tracking_parameters();
    let too_many = ApiError::from(RequestLimitExceeded {
        retry_after_seconds: 1,
    });
    OperationBuilder::new()
        .tag("Cargo")
        .operation_id(Some("track"))
        .summary(Some("Get the status and the result of a cargo"))
        .description(Some(
            "The status goes from PENDING to BATCHED, PROCESSING and COMPLETED. With a callback it \
             then becomes callback_delivered or callback_failed. If a provider loses a batch, \
             its cargo returns to PENDING. The result stays available in the last three \
             statuses. With `wait` the request is a long-poll: repeat it until the record is \
             complete.",
        ))
        .parameter(cargo_id())
        .parameter(wait)
        .parameter(until)
        .parameter(prefer)
        .response(
            "200",
            responses::json_response::<wire::tracking::TrackingResponse>(
                "The tracking record.",
                records,
            )
            .header("Retry-After", wait::retry_after_header()),
        )
        .response(
            "404",
            responses::error_response("There is no such cargo in your project.", not_found),
        )
        .response(
            "422",
            responses::error_response("The query is invalid.", wrong),
        )
        .response(
            "429",
            responses::rate_limited_response(responses::error_response(
                responses::RATE_LIMITED,
                [("Too many requests", too_many)],
            )),
        )
        .with_common_errors(KeyRight::Read)
        .build()
}
