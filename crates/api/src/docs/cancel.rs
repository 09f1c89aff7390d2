//! `POST /cargo/{cargo_id}/cancel`.

use domain::key_scope::KeyRight;
use domain::request_buckets::RequestLimitExceeded;
use utoipa::openapi::path::{Operation, OperationBuilder};
use wire::cancel::{CancelResponse, CancelResultBody};
use wire::tracking::CargoStatusBody;

use super::examples::EXAMPLE_CARGO_ID;
use super::responses::{self, AuthenticatedOperation as _};
use super::tracking;
use crate::api_error::ApiError;

pub(super) fn operation() -> Operation {
    let answer = |status, cancel| {
        responses::to_json(&CancelResponse {
            cargo_id: EXAMPLE_CARGO_ID.to_owned(),
            status,
            cancel,
        })
    };
    let answers = [
        (
            "Cancelled",
            answer(CargoStatusBody::Completed, CancelResultBody::Cancelled),
        ),
        (
            "A provider has it",
            answer(CargoStatusBody::Processing, CancelResultBody::TooLate),
        ),
        (
            "Completed before",
            answer(CargoStatusBody::Delivered, CancelResultBody::Done),
        ),
    ];
    let not_found = [(
        "Unknown, or of another project",
        ApiError::cargo_not_found(),
    )];
    let too_many = ApiError::from(RequestLimitExceeded {
        retry_after_seconds: 1,
    });
    OperationBuilder::new()
        .tag("Cargo")
        .operation_id(Some("cancel"))
        .summary(Some("Cancel a cargo"))
        .description(Some(
            "A cargo that no provider has is completed with the error code `cancelled`: nothing of \
             it is sent, its hold is released, and its callback is sent as usual. If a provider has \
             it, or may have it, the answer is `too_late`, and the outcome is stored, charged and \
             delivered. A request can be repeated: the answer stays the same. No body is needed.",
        ))
        .parameter(tracking::cargo_id())
        .response(
            "200",
            responses::json_response::<CancelResponse>("What the request did.", answers),
        )
        .response(
            "404",
            responses::error_response("There is no such cargo in your project.", not_found),
        )
        .response(
            "429",
            responses::rate_limited_response(responses::error_response(
                responses::RATE_LIMITED,
                [("Too many requests", too_many)],
            )),
        )
        .with_common_errors(KeyRight::Load)
        .build()
}
