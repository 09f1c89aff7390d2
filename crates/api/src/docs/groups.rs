//! The documentation of the group routes.

mod change;
mod examples;
mod read;

use domain::key_scope::KeyRight;
use utoipa::openapi::Required;
use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
    PathItemBuilder,
};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::reading::too_many_requests;
use super::responses::{self, AuthenticatedOperation as _};
use crate::api_error::ApiError;

pub(super) fn paths() -> Vec<(&'static str, PathItem)> {
    vec![
        (
            "/groups",
            PathItemBuilder::new()
                .operation(HttpMethod::Post, change::create())
                .operation(HttpMethod::Get, read::list())
                .build(),
        ),
        (
            "/groups/{group_id}",
            PathItem::new(HttpMethod::Get, read::get()),
        ),
        (
            "/groups/{group_id}/seal",
            PathItem::new(HttpMethod::Post, change::seal()),
        ),
        (
            "/groups/{group_id}/cancel",
            PathItem::new(HttpMethod::Post, change::cancel()),
        ),
        (
            "/groups/{group_id}/results",
            PathItem::new(HttpMethod::Get, read::results()),
        ),
    ]
}

fn group_id_parameter() -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^grp_[0-9a-f]{32}$"));
    ParameterBuilder::new()
        .name("group_id")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("The id that POST /groups returned."))
        .schema(Some(schema))
        .build()
}

/// What the group routes have in common.
trait GroupOperation {
    fn with_group_errors(self, right: KeyRight) -> Self;

    /// For a route with a group id.
    fn with_group_id(self, right: KeyRight) -> Self;

    /// For a route that takes a body.
    fn with_body_errors(self, wrong: ApiError) -> Self;
}

impl GroupOperation for OperationBuilder {
    fn with_group_errors(self, right: KeyRight) -> Self {
        self.tag("Groups")
            .with_common_errors(right)
            .response("429", responses::rate_limited_response(too_many_requests()))
    }

    fn with_group_id(self, right: KeyRight) -> Self {
        let not_found = [(
            "Unknown, or of another project",
            ApiError::group_not_found(),
        )];
        self.with_group_errors(right)
            .parameter(group_id_parameter())
            .response(
                "404",
                responses::error_response("There is no such group in your project.", not_found),
            )
    }

    fn with_body_errors(self, wrong: ApiError) -> Self {
        let incomplete = [("Incomplete", ApiError::incomplete_body())];
        let slow = [("Too slow", ApiError::slow_body())];
        let too_large = [("Too large", ApiError::too_large(10 << 20))];
        let compressed = [("Compressed", ApiError::unsupported_content_encoding())];
        self.response(
            "400",
            responses::error_response("The body is not JSON or incomplete.", incomplete),
        )
        .response("408", responses::error_response(responses::SLOW_BODY, slow))
        .response(
            "413",
            responses::error_response("The body is too large.", too_large),
        )
        .response(
            "415",
            responses::error_response("The body has a Content-Encoding.", compressed),
        )
        .response(
            "422",
            responses::error_response("The request is invalid.", [("Invalid", wrong)]),
        )
    }
}

/// The error of a request that is one.
fn expect_error<T>(result: Result<T, ApiError>) -> ApiError {
    match result {
        Err(problem) => problem,
        Ok(_) => ApiError::internal("an example of an error was accepted"),
    }
}
