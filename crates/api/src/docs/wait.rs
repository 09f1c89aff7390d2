//! `POST /cargo/wait`, and the parameters of tracking that wait.

use domain::key_scope::KeyRight;
use domain::request_buckets::RequestLimitExceeded;
use utoipa::openapi::Required;
use utoipa::openapi::header::Header;
use utoipa::openapi::path::{
    Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use wire::wait::{CargoWaitRequest, CargoWaitResponse};

use super::examples;
use super::files::query_parameter;
use super::responses::{self, AuthenticatedOperation as _};
use crate::api_error::ApiError;
use crate::cargo::wait::MAX_WAIT_BODY_BYTES;
use crate::cargo::wait_request::{parse_cargo_wait, too_many_ids};
use crate::wait_query::MAX_WAIT_SECONDS;

pub(super) fn operation() -> Operation {
    let body = RequestBodyBuilder::new()
        .content(
            "application/json",
            responses::json_content::<CargoWaitRequest>([(
                "Two cargo",
                responses::to_json(&CargoWaitRequest {
                    cargo_ids: vec![
                        "crg_019b76da807b774b805000000000002a".to_owned(),
                        "crg_019b76da807b774b805000000000002b".to_owned(),
                    ],
                    wait: Some(50),
                }),
            )]),
        )
        .required(Some(Required::True))
        .build();
    let answer = CargoWaitResponse {
        completed: vec![examples::failed()],
        pending: vec!["crg_019b76da807b774b805000000000002b".to_owned()],
        unknown: Vec::new(),
    };
    let operation = OperationBuilder::new()
        .tag("Cargo")
        .operation_id(Some("waitForCargo"))
        .summary(Some("Wait until one of several cargo is completed"))
        .description(Some(
            "Answers when at least one of the cargo is completed, with all that completed within \
             the next 100 ms, or when the time is over. Send the ids in `pending` again until the \
             list is empty. One request waits for up to 1,000 cargo, so a program needs one \
             connection for all of its requests.",
        ))
        .request_body(Some(body))
        .response(
            "200",
            responses::json_response::<CargoWaitResponse>(
                "The completed cargo, and the others.",
                [("One is completed", responses::to_json(&answer))],
            )
            .header("Retry-After", retry_after_header()),
        );
    with_errors(operation).build()
}

fn with_errors(operation: OperationBuilder) -> OperationBuilder {
    let wrong = parse_cargo_wait(br#"{"cargo_ids": [], "wait": 61}"#).err();
    let wrong = wrong.map(|wrong| ("Several at once", wrong));
    let not_json = parse_cargo_wait(b"{").err();
    let not_json = not_json.map(|wrong| ("Not JSON", wrong));
    let compressed = ApiError::unsupported_content_encoding();
    let too_many = ApiError::from(RequestLimitExceeded {
        retry_after_seconds: 1,
    });
    operation
        .response(
            "400",
            responses::error_response("The body is not JSON.", not_json),
        )
        .response(
            "408",
            responses::error_response(responses::SLOW_BODY, [("Too slow", ApiError::slow_body())]),
        )
        .response(
            "413",
            responses::error_response(
                "The request names too many cargo, or its body is too large.",
                [
                    ("Too many cargo", too_many_ids()),
                    ("Too large", ApiError::too_large(MAX_WAIT_BODY_BYTES)),
                ],
            ),
        )
        .response(
            "415",
            responses::error_response("The body is compressed.", [("Compressed", compressed)]),
        )
        .response("422", responses::error_response("A field is wrong.", wrong))
        .response(
            "429",
            responses::rate_limited_response(responses::error_response(
                responses::RATE_LIMITED,
                [("Too many requests", too_many)],
            )),
        )
        .with_common_errors(KeyRight::Read)
}

/// The parameters of tracking.
pub(super) fn tracking_parameters() -> [Parameter; 3] {
    let until = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(["completed", "delivered"]))
        .default(Some("completed".into()));
    let prefer = ParameterBuilder::new()
        .name("Prefer")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some("`wait=N` is the same as `?wait=N` (RFC 7240)."))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build();
    [
        query_parameter(
            "wait",
            "Answer when the cargo is completed, or after so many seconds. The operator can set \
             a lower maximum, by default 50.",
            ObjectBuilder::new()
                .schema_type(Type::Integer)
                .minimum(Some(0_u32))
                .maximum(Some(MAX_WAIT_SECONDS))
                .default(Some(0_u32.into()))
                .build(),
        ),
        query_parameter(
            "until",
            "What `wait` waits for: that the cargo is completed, or also that its callback is \
             delivered or has failed for good.",
            until.build(),
        ),
        prefer,
    ]
}

pub(super) fn retry_after_header() -> Header {
    responses::number_header(
        "Present if the request did not wait because too many requests do. Seconds until you may \
         try again.",
    )
}
