//! The documentation of the Files routes.

mod change;
mod complete;
mod create;
mod examples;
mod read;

use domain::key_scope::KeyRight;
use domain::request_buckets::RequestLimitExceeded;
use utoipa::openapi::link::LinkBuilder;
use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
    PathItemBuilder,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Required};

use super::responses;
use crate::api_error::{ApiError, FileApiError};
use crate::files::errors;
use outbound::health::DependencyHealth;

/// In the order of the contract.
pub(super) fn paths() -> Vec<(&'static str, PathItem)> {
    let one = |method, operation| PathItem::new(method, operation);
    vec![
        (
            "/files",
            PathItemBuilder::new()
                .operation(HttpMethod::Post, create::create())
                .operation(HttpMethod::Get, read::list())
                .build(),
        ),
        (
            "/files/{file_id}/complete",
            one(HttpMethod::Post, complete::complete()),
        ),
        (
            "/files/{file_id}/parts",
            one(HttpMethod::Post, create::refresh()),
        ),
        (
            "/files/{file_id}",
            PathItemBuilder::new()
                .operation(HttpMethod::Get, read::get())
                .operation(HttpMethod::Patch, change::change())
                .operation(HttpMethod::Delete, change::delete())
                .build(),
        ),
        (
            "/files/{file_id}/content",
            one(HttpMethod::Get, read::content()),
        ),
    ]
}

/// An error response. The examples are the errors that the code returns.
fn error_response(
    description: &str,
    problems: impl IntoIterator<Item = (&'static str, FileApiError)>,
) -> Response {
    let shown =
        |(summary, problem): (_, FileApiError)| (summary, responses::to_json(&problem.into_body()));
    let refused = responses::json_response::<wire::file::FileErrorBody>(
        description,
        problems.into_iter().map(shown),
    );
    refused.build()
}

fn request_body<T: utoipa::ToSchema>(
    examples: impl IntoIterator<Item = (&'static str, serde_json::Value)>,
) -> RequestBody {
    RequestBodyBuilder::new()
        .content("application/json", responses::json_content::<T>(examples))
        .required(Some(Required::True))
        .build()
}

fn file_id_parameter() -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^file_[0-9a-f]{32}$"));
    ParameterBuilder::new()
        .name("file_id")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("The id that POST /files returned."))
        .schema(Some(schema))
        .build()
}

pub(super) fn query_parameter(name: &str, description: &str, schema: Object) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(RefOr::T(schema.into())))
        .build()
}

/// What can be done with the file that a response names.
const FILE_OPERATIONS: [&str; 6] = [
    "getFile",
    "changeFile",
    "deleteFile",
    "completeFile",
    "refreshParts",
    "getFileContent",
];

fn with_file_links(response: ResponseBuilder) -> ResponseBuilder {
    FILE_OPERATIONS
        .into_iter()
        .fold(response, |response, operation| {
            let follow = LinkBuilder::new()
                .operation_id(operation)
                .parameter("file_id", "$response.body#/id")
                .build();
            response.link(operation, follow)
        })
}

/// What the Files routes have in common.
trait FileOperation {
    /// The errors of the API key, and internal errors.
    fn with_file_errors(self) -> Self;

    /// For a route with a file id.
    fn with_file_id(self) -> Self;

    /// For a route that needs the object store, which may be unavailable.
    fn with_store_errors(self) -> Self;

    /// For a route that takes a body.
    fn with_body_errors(self) -> Self;
}

impl FileOperation for OperationBuilder {
    fn with_file_errors(self) -> Self {
        use responses::AuthenticatedOperation as _;
        let internal = ApiError::internal("").into();
        let away = ApiError::unavailable(DATABASE_UNAVAILABLE, 1).into();
        let away = [("Temporarily unavailable", away)];
        let too_many = ApiError::from(RequestLimitExceeded {
            retry_after_seconds: 1,
        });
        let too_many = [("Too many requests", too_many.into())];
        let too_many = error_response(responses::RATE_LIMITED, too_many);
        self.tag("Files")
            .with_common_errors(KeyRight::Files)
            .response("429", responses::rate_limited_response(too_many))
            .response(
                "500",
                error_response(
                    "Internal error. Report it with the X-Request-Id.",
                    [("Internal error", internal)],
                ),
            )
            .response("503", unavailable_response(away))
    }

    fn with_file_id(self) -> Self {
        let not_found = [("Unknown, or of another project", errors::not_found())];
        self.with_file_errors()
            .parameter(file_id_parameter())
            .response(
                "404",
                error_response("There is no such file in your project.", not_found),
            )
    }

    fn with_store_errors(self) -> Self {
        let away = DependencyHealth::Unreachable(
            "the object store cannot be reached: connection refused".into(),
        );
        let problems = [
            (
                "The object store is unavailable",
                errors::store_unavailable(&away),
            ),
            (
                "No object store is configured",
                errors::store_unavailable(&DependencyHealth::NotConfigured),
            ),
            (
                "Temporarily unavailable",
                ApiError::unavailable(DATABASE_UNAVAILABLE, 1).into(),
            ),
        ];
        self.response("503", unavailable_response(problems))
    }

    fn with_body_errors(self) -> Self {
        let incomplete = [("Incomplete", ApiError::incomplete_body().into())];
        let slow = [("Too slow", ApiError::slow_body().into())];
        let too_large = [too_large_body()];
        let compressed = [compressed_body()];
        self.response("400", error_response("The body is incomplete.", incomplete))
            .response("408", error_response(responses::SLOW_BODY, slow))
            .response("413", error_response("The body is too large.", too_large))
            .response(
                "415",
                error_response("The body has a Content-Encoding.", compressed),
            )
    }
}

fn too_large_body() -> (&'static str, FileApiError) {
    ("A large body", ApiError::too_large(10 << 20).into())
}

fn compressed_body() -> (&'static str, FileApiError) {
    let problem = ApiError::unsupported_content_encoding();
    ("A compressed body", problem.into())
}

const DATABASE_UNAVAILABLE: &str = "The database is temporarily unavailable. Retry shortly.";

fn unavailable_response(
    problems: impl IntoIterator<Item = (&'static str, FileApiError)>,
) -> Response {
    let text = "A service that files need is unavailable. Nothing was changed.";
    let refused = error_response(text, problems);
    ResponseBuilder::from(refused)
        .header(
            "Retry-After",
            responses::number_header("Seconds to wait before a retry."),
        )
        .build()
}
