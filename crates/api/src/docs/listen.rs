//! `GET /listen` and `POST /listen/{listener_id}/answers`.

use std::collections::BTreeMap;

use domain::key_scope::KeyRight;
use domain::request_buckets::RequestLimitExceeded;
use utoipa::ToSchema as _;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{
    HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Ref, Required};
use wire::listen::{ListenerAnswerRequest, ListenerCallbackEvent};

use super::responses::{self, AuthenticatedOperation as _};
use crate::api_error::ApiError;
use crate::listen::answer::{MAX_ANSWER_BODY_BYTES, delivery_not_found};
use crate::listen::answer_request::parse_answer;
use crate::listen::{parse_name, too_many_listeners, tunnel_off};

const EXAMPLE_DELIVERY: &str = "dlv_019b76da807b774b805000000000002a";

pub(super) fn paths() -> Vec<(&'static str, PathItem)> {
    vec![
        ("/listen", PathItem::new(HttpMethod::Get, listen())),
        (
            "/listen/{listener_id}/answers",
            PathItem::new(HttpMethod::Post, answer()),
        ),
    ]
}

fn listen() -> Operation {
    let wrong = "/listen?name=Anna".parse().unwrap_or_default();
    let wrong = parse_name(&wrong).err().map(|wrong| ("Wrong name", wrong));
    // The schema is that of the data of the events `callback`.
    let events = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(ListenerCallbackEvent::name())))
        .build();
    let stream = ResponseBuilder::new()
        .description(
            "Server-sent events. The first is `ready`, with a ListenerReady. Each callback is an \
             event `callback`, with a ListenerCallback. `replaced` is the last event of a stream \
             whose name another one has taken. A comment comes every 15 seconds.",
        )
        .content("text/event-stream", events);
    OperationBuilder::new()
        .tag("Cargo")
        .operation_id(Some("listen"))
        .summary(Some("Receive callbacks without a public host"))
        .description(Some(
            "For development: load cargo with the `callback_url` `listen://NAME`, and its callbacks \
             come over this stream. POST each one to your receiver and send the answer to \
             `POST /listen/{listener_id}/answers` within 30 seconds. The stream ends after an hour, \
             and when the server stops: connect again. A project has at most 10 listeners, and each \
             gets at most 20 callbacks a second. The key needs the rights `read` and `load`.",
        ))
        .parameter(name_parameter())
        .response("200", stream)
        .response(
            "404",
            responses::error_response(
                "The operator has switched the listen tunnel off.",
                [("Switched off", tunnel_off())],
            ),
        )
        .response(
            "409",
            responses::error_response(
                "The project has too many listeners.",
                [("Too many", too_many_listeners())],
            ),
        )
        .response("422", responses::error_response("The name is wrong.", wrong))
        .response("429", rate_limited())
        .with_common_errors(KeyRight::Read)
        .build()
}

fn answer() -> Operation {
    let example = ListenerAnswerRequest {
        delivery_id: EXAMPLE_DELIVERY.to_owned(),
        status: Some(200),
        headers: Some(BTreeMap::new()),
        body: Some("ok".to_owned()),
        latency_ms: Some(12),
        error: None,
    };
    let refused = ListenerAnswerRequest {
        delivery_id: EXAMPLE_DELIVERY.to_owned(),
        error: Some("connection refused".to_owned()),
        ..ListenerAnswerRequest::default()
    };
    let body = RequestBodyBuilder::new()
        .content(
            "application/json",
            responses::json_content::<ListenerAnswerRequest>([
                ("Acknowledged", responses::to_json(&example)),
                ("No answer", responses::to_json(&refused)),
            ]),
        )
        .required(Some(Required::True))
        .build();
    let operation = OperationBuilder::new()
        .tag("Cargo")
        .operation_id(Some("answerCallback"))
        .summary(Some("Send the answer of your receiver"))
        .description(Some(
            "The answer counts as if it had come from a `callback_url`: 2xx acknowledges the \
             callback, and everything else is retried.",
        ))
        .parameter(listener_parameter())
        .request_body(Some(body))
        .response(
            "204",
            ResponseBuilder::new().description("The answer is stored."),
        );
    with_answer_errors(operation).build()
}

fn with_answer_errors(operation: OperationBuilder) -> OperationBuilder {
    let wrong = parse_answer(br#"{"status": 99}"#).err();
    let wrong = wrong.map(|wrong| ("Several at once", wrong));
    let not_json = parse_answer(b"{").err();
    let not_json = not_json.map(|wrong| ("Not JSON", wrong));
    let compressed = ApiError::unsupported_content_encoding();
    operation
        .response(
            "400",
            responses::error_response("The body is not JSON.", not_json),
        )
        .response(
            "404",
            responses::error_response(
                "No attempt waits for this answer.",
                [("Too late", delivery_not_found())],
            ),
        )
        .response(
            "408",
            responses::error_response(responses::SLOW_BODY, [("Too slow", ApiError::slow_body())]),
        )
        .response(
            "413",
            responses::error_response(
                "The body is too large.",
                [("Too large", ApiError::too_large(MAX_ANSWER_BODY_BYTES))],
            ),
        )
        .response(
            "415",
            responses::error_response("The body is compressed.", [("Compressed", compressed)]),
        )
        .response("422", responses::error_response("A field is wrong.", wrong))
        .response("429", rate_limited())
        .with_common_errors(KeyRight::Load)
}

fn rate_limited() -> Response {
    let too_many = ApiError::from(RequestLimitExceeded {
        retry_after_seconds: 1,
    });
    let problems = [("Too many requests", too_many)];
    let refused = responses::error_response(responses::RATE_LIMITED, problems);
    responses::rate_limited_response(refused)
}

fn name_parameter() -> Parameter {
    parameter(
        "name",
        ParameterIn::Query,
        "The name after `listen://`. A newer stream with the same name replaces an older one.",
        "^[a-z0-9-]{1,32}$",
    )
}

fn listener_parameter() -> Parameter {
    parameter(
        "listener_id",
        ParameterIn::Path,
        "The `listener_id` of the event `ready`.",
        "^lsn_[0-9a-f]{32}$",
    )
}

fn parameter(name: &str, place: ParameterIn, description: &str, pattern: &str) -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(pattern));
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(Required::True)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}
