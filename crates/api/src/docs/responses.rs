//! Helpers that describe responses.

use std::net::IpAddr;

use domain::api_key::ApiKeyRefusal;
use domain::key_scope::{KeyRight, KeyScopeRefusal};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::Ref;
use utoipa::openapi::content::{Content, ContentBuilder};
use utoipa::openapi::example::{Example, ExampleBuilder};
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::OperationBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::api_error::ApiError;

/// A JSON body with its examples, in this order.
pub(super) fn json_content<T: ToSchema>(
    examples: impl IntoIterator<Item = (&'static str, Value)>,
) -> Content {
    let named = |(number, (summary, value)): (usize, (&str, Value))| {
        let example: Example = ExampleBuilder::new()
            .summary(summary)
            .value(Some(value))
            .build();
        // Examples are sorted by name.
        (format!("{number:02}"), example)
    };
    ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(T::name())))
        .examples_from_iter(examples.into_iter().enumerate().map(named))
        .build()
}

/// A response with a JSON body.
pub(super) fn json_response<T: ToSchema>(
    description: &str,
    examples: impl IntoIterator<Item = (&'static str, Value)>,
) -> ResponseBuilder {
    let content = json_content::<T>(examples);
    ResponseBuilder::new()
        .description(description)
        .content("application/json", content)
}

/// An error response. The examples are the errors that the code returns.
pub(super) fn error_response(
    description: &str,
    problems: impl IntoIterator<Item = (&'static str, ApiError)>,
) -> ResponseBuilder {
    let shown = |(summary, problem): (_, ApiError)| (summary, to_json(&problem.into_body()));
    json_response::<wire::error_body::ErrorBody>(description, problems.into_iter().map(shown))
}

pub(super) fn to_json(body: &impl Serialize) -> Value {
    serde_json::to_value(body).unwrap_or_default()
}

pub(super) fn text_header(description: &str) -> Header {
    header(description, Type::String)
}

pub(super) fn number_header(description: &str) -> Header {
    header(description, Type::Integer)
}

fn header(description: &str, kind: Type) -> Header {
    let schema = ObjectBuilder::new().schema_type(kind);
    HeaderBuilder::new()
        .schema(Some(schema))
        .description(Some(description))
        .build()
}

pub(super) const FORBIDDEN_DESCRIPTION: &str =
    "The project is inactive, or the scope of the API key does not include the request.";

/// The 403 errors of every route that needs an API key with this right.
pub(super) fn forbidden_errors(right: KeyRight) -> [(&'static str, ApiError); 3] {
    let address = Some(IpAddr::from([192, 0, 2, 7]));
    [
        ("Inactive", ApiKeyRefusal::ProjectInactive.into()),
        (
            "The key does not have the right",
            KeyScopeRefusal::Right(right).into(),
        ),
        (
            "The key is restricted to other addresses",
            KeyScopeRefusal::Address(address).into(),
        ),
    ]
}

/// The errors of every route that needs an API key.
pub(super) trait AuthenticatedOperation {
    /// `right` is the right of an API key that the route needs.
    fn with_common_errors(self, right: KeyRight) -> Self;

    /// The errors of our side.
    fn with_server_errors(self) -> Self;
}

/// The 429 of every route but load, around the error in the format of the route.
pub(super) fn rate_limited_response(refused: impl Into<ResponseBuilder>) -> Response {
    let wait = "Seconds until the next request is accepted.";
    let refused: ResponseBuilder = refused.into();
    refused.header("Retry-After", number_header(wait)).build()
}

pub(super) const RATE_LIMITED: &str =
    "This project sends too many requests. Wait for `Retry-After`.";

pub(super) const SLOW_BODY: &str = "The body arrived too slowly.";

impl AuthenticatedOperation for OperationBuilder {
    fn with_common_errors(self, right: KeyRight) -> Self {
        use domain::api_key::ApiKeyRefusal::{Expired, Malformed, Missing, Unknown};
        let keys = [
            ("No API key", Missing.into()),
            ("Wrong format", Malformed.into()),
            ("Unknown or deactivated", Unknown.into()),
            ("Expired", Expired.into()),
        ];
        self.response(
            "401",
            error_response("The API key is missing or invalid.", keys),
        )
        .response(
            "403",
            error_response(FORBIDDEN_DESCRIPTION, forbidden_errors(right)),
        )
        .with_server_errors()
    }

    fn with_server_errors(self) -> Self {
        let failed = [("Internal error", ApiError::internal(""))];
        self.response(
            "500",
            error_response("Internal error. Report it with the X-Request-Id.", failed),
        )
        .response("503", unavailable_response())
    }
}

fn unavailable_response() -> Response {
    let detail = "The database is temporarily unavailable. Retry shortly.";
    let problems = [("Temporarily unavailable", ApiError::unavailable(detail, 1))];
    error_response(
        "A service that your organization needs is unavailable. Nothing was accepted.",
        problems,
    )
    .header(
        "Retry-After",
        number_header("Seconds to wait before a retry."),
    )
    .build()
}
