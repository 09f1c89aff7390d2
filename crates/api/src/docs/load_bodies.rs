//! The body of `POST /cargo/bulk` and `POST /cargo/estimate`: JSON, or one load per line.

use serde_json::Value;
use utoipa::openapi::Required;
use utoipa::openapi::content::Content;
use utoipa::openapi::path::OperationBuilder;
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use wire::bulk::BulkLoadItem;

use super::responses;
use crate::api_error::ApiError;
use crate::cargo::bulk::{not_a_bulk_load, too_many_items};

/// `line` is an example of one line.
pub(super) fn request_body(json: Content, line: Value) -> RequestBody {
    let line = responses::json_content::<BulkLoadItem>([("One of the lines", line)]);
    RequestBodyBuilder::new()
        .content("application/json", json)
        .content("application/x-ndjson", line)
        .required(Some(Required::True))
        .build()
}

/// The errors of a body that is not read as loads. `fault` is what the JSON parser says of the
/// example `summary`.
pub(super) fn with_body_errors(
    operation: OperationBuilder,
    summary: &'static str,
    fault: &str,
) -> OperationBuilder {
    let unreadable = [
        (summary, not_a_bulk_load(fault)),
        ("Incomplete", ApiError::incomplete_body()),
    ];
    let too_large = [
        ("Too many items", too_many_items()),
        ("Too many bytes", ApiError::too_large(10 << 20)),
    ];
    operation
        .response(
            "400",
            responses::error_response("The body cannot be split into loads.", unreadable),
        )
        .response(
            "408",
            responses::error_response(responses::SLOW_BODY, [("Too slow", ApiError::slow_body())]),
        )
        .response(
            "413",
            responses::error_response("The body is too large. Nothing was loaded.", too_large),
        )
        .response(
            "415",
            responses::error_response(
                "The body has a Content-Encoding.",
                [("Compressed", ApiError::unsupported_content_encoding())],
            ),
        )
}
