//! `GET /cargo`, `GET /cargo/{cargo_id}/attempts` and `POST /cargo/{cargo_id}/resend`.

use domain::cargo::CargoStatus;
use domain::key_scope::KeyRight;
use domain::request_buckets::RequestLimitExceeded;
use utoipa::openapi::Required;
use utoipa::openapi::path::{
    Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn,
};
use utoipa::openapi::schema::{
    ArrayBuilder, KnownFormat, Object, ObjectBuilder, SchemaFormat, Type,
};
use wire::cargo_list::{CallbackAttemptsResponse, CargoListResponse, ResendResponse};

use super::files::query_parameter;
use super::reading_examples as examples;
use super::responses::{self, AuthenticatedOperation as _};
use crate::api_error::ApiError;
use crate::cargo::list_query::{
    DEFAULT_CARGO_PAGE_SIZE, MAX_CARGO_PAGE_SIZE, parse_cargo_list_query,
};
use crate::cargo::resend;
use crate::rate_limit::too_many_resends;

pub(super) fn list() -> Operation {
    let page = examples::page();
    let cut = CargoListResponse {
        cargo: Vec::new(),
        looked_until: Some(examples::moment("2026-11-14T21:07:13.000000Z")),
        ..page.clone()
    };
    let pages = [
        ("A page", responses::to_json(&page)),
        (
            "The search ended before it found cargo: the next page continues",
            responses::to_json(&cut),
        ),
    ];
    let wrong = "/cargo?status=lost&limit=0&custom_id=a".parse();
    let wrong = parse_cargo_list_query(&wrong.unwrap_or_default()).err();
    let wrong = wrong.map(|wrong| ("Several at once", wrong));
    let operation = OperationBuilder::new()
        .tag("Cargo")
        .operation_id(Some("listCargo"))
        .summary(Some("The cargo of your project, newest first"))
        .description(Some(
            "Several filters must all match. The filters `success=false`, \
             `status=callback_failed` and `group_id` have an index. The others examine a limited \
             number of cargo for each page, so a page can be short, even empty: `looked_until` \
             says how far the search came. Repeat the request with `next_cursor` as `cursor` \
             until `next_cursor` is null.",
        ));
    let parameters = list_parameters().into_iter();
    parameters
        .fold(operation, OperationBuilder::parameter)
        .response(
            "200",
            responses::json_response::<CargoListResponse>("A page.", pages),
        )
        .response(
            "422",
            responses::error_response("The query is invalid.", wrong),
        )
        .response("429", responses::rate_limited_response(too_many_requests()))
        .with_common_errors(KeyRight::Read)
        .build()
}

fn list_parameters() -> [Parameter; 10] {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let moment = || {
        let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        text().format(Some(format)).build()
    };
    let limit = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(MAX_CARGO_PAGE_SIZE))
        .default(Some(DEFAULT_CARGO_PAGE_SIZE.into()));
    let flag = ObjectBuilder::new().schema_type(Type::Boolean);
    let group = text().pattern(Some("^grp_[0-9a-f]{32}$"));
    [
        status_parameter(),
        query_parameter(
            "success",
            "Only completed cargo with this result.",
            flag.build(),
        ),
        query_parameter("model", "Only cargo of this model.", text().build()),
        query_parameter(
            "callback_host",
            "Only cargo whose callback goes to this host. Without a port it is 443.",
            text().build(),
        ),
        query_parameter("group_id", "Only cargo of this group.", group.build()),
        query_parameter(
            "custom_id",
            "Only the cargo with this name in the group. Needs `group_id`.",
            text().build(),
        ),
        query_parameter(
            "created_after",
            "Only cargo of this moment or later.",
            moment(),
        ),
        query_parameter(
            "created_before",
            "Only cargo of an earlier moment.",
            moment(),
        ),
        query_parameter(
            "limit",
            "The maximum number of cargo in a page.",
            limit.build(),
        ),
        query_parameter(
            "cursor",
            "The `next_cursor` of the previous page. Empty is the first page.",
            text().build(),
        ),
    ]
}

/// May be repeated: `status=PENDING&status=BATCHED`.
fn status_parameter() -> Parameter {
    let words = CargoStatus::ALL.map(CargoStatus::as_wire);
    let word = ObjectBuilder::new().schema_type(Type::String);
    let word: Object = word.enum_values(Some(words)).build();
    ParameterBuilder::new()
        .name("status")
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(
            "Only cargo with one of these statuses. Repeat it for several.",
        ))
        .explode(Some(true))
        .schema(Some(ArrayBuilder::new().items(word)))
        .build()
}

pub(super) fn attempts() -> Operation {
    let log = [(
        "Two failed attempts",
        responses::to_json(&examples::attempts()),
    )];
    with_cargo_id(OperationBuilder::new())
        .operation_id(Some("listCallbackAttempts"))
        .summary(Some("The attempts of a callback"))
        .description(Some(
            "What was sent when, and what the receiver answered. Empty without a callback, and \
             before the first attempt.",
        ))
        .response(
            "200",
            responses::json_response::<CallbackAttemptsResponse>("The last 100 attempts.", log),
        )
        .response("429", responses::rate_limited_response(too_many_requests()))
        .with_common_errors(KeyRight::Read)
        .build()
}

pub(super) fn resend() -> Operation {
    let accepted = examples::resends().map(|(summary, body)| (summary, responses::to_json(&body)));
    let nothing = [
        (
            "Not completed, or without a callback",
            resend::nothing_to_send(),
        ),
        ("Erased", resend::erased()),
    ];
    let too_many = [
        ("A resend of the same second", too_many_resends(1)),
        ("Too many requests", limit_exceeded()),
    ];
    with_cargo_id(OperationBuilder::new())
        .operation_id(Some("resendCallback"))
        .summary(Some("Send the callback of a completed cargo again"))
        .description(Some(
            "One attempt with the same bytes is made at once, also if the callback was delivered \
             before. It is signed with the secrets of now. At most one resend per cargo and \
             second is accepted. The body of the request is ignored.",
        ))
        .response(
            "202",
            responses::json_response::<ResendResponse>("The attempt is queued.", accepted),
        )
        .response(
            "409",
            responses::error_response("There is no callback to send.", nothing),
        )
        .response(
            "429",
            responses::rate_limited_response(responses::error_response(
                responses::RATE_LIMITED,
                too_many,
            )),
        )
        .with_common_errors(KeyRight::Load)
        .build()
}

fn with_cargo_id(operation: OperationBuilder) -> OperationBuilder {
    let pattern = ObjectBuilder::new().schema_type(Type::String);
    let cargo_id = ParameterBuilder::new()
        .name("cargo_id")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("The id that load returned."))
        .schema(Some(pattern.pattern(Some("^crg_[0-9a-f]{32}$"))))
        .build();
    let not_found = [(
        "Unknown, or of another project",
        ApiError::cargo_not_found(),
    )];
    operation.tag("Cargo").parameter(cargo_id).response(
        "404",
        responses::error_response("There is no such cargo in your project.", not_found),
    )
}

pub(super) fn too_many_requests() -> utoipa::openapi::response::ResponseBuilder {
    let problems = [("Too many requests", limit_exceeded())];
    responses::error_response(responses::RATE_LIMITED, problems)
}

pub(super) fn limit_exceeded() -> ApiError {
    ApiError::from(RequestLimitExceeded {
        retry_after_seconds: 1,
    })
}
