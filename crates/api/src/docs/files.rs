//! The Files routes.

mod change;
mod complete;
mod create;
mod examples;
mod read;

use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
    PathItemBuilder,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Required};

use super::answer;
use crate::harbour::refuse;
use crate::problem::{FileProblem, Problem};
use outbound::health::Condition;

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

/// A no, shown by what the code itself says.
fn refusal(
    description: &str,
    problems: impl IntoIterator<Item = (&'static str, FileProblem)>,
) -> Response {
    let shown =
        |(summary, problem): (_, FileProblem)| (summary, answer::value(&problem.into_refusal()));
    let refused =
        answer::with::<wire::file::FileRefusal>(description, problems.into_iter().map(shown));
    refused.build()
}

fn body<T: utoipa::ToSchema>(
    examples: impl IntoIterator<Item = (&'static str, serde_json::Value)>,
) -> RequestBody {
    RequestBodyBuilder::new()
        .content("application/json", answer::json::<T>(examples))
        .required(Some(Required::True))
        .build()
}

fn file_id() -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^file_[0-9a-f]{32}$"));
    ParameterBuilder::new()
        .name("file_id")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("What POST /files answered."))
        .schema(Some(schema))
        .build()
}

fn query(name: &str, description: &str, schema: Object) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(RefOr::T(schema.into())))
        .build()
}

/// What the routes of files have in common.
trait OfFiles {
    /// The key's refusals and our own failures.
    fn of_files(self) -> Self;

    /// For a route that names a file.
    fn of_a_file(self) -> Self;

    /// For a route that needs the store, which may be away.
    fn with_the_store(self) -> Self;
}

impl OfFiles for OperationBuilder {
    fn of_files(self) -> Self {
        use answer::Guarded as _;
        let internal = Problem::internal("").into();
        let away = Problem::unavailable(SHARD_AWAY, 1).into();
        let away = [("Briefly unavailable", away)];
        self.tag("Files")
            .guarded()
            .response(
                "500",
                refusal("We failed.", [("Nothing of the cause", internal)]),
            )
            .response("503", refused_for_now(away))
    }

    fn of_a_file(self) -> Self {
        let not_found = [("Not yours, or not there", refuse::not_found())];
        self.of_files().parameter(file_id()).response(
            "404",
            refusal("There is no such file in your project.", not_found),
        )
    }

    fn with_the_store(self) -> Self {
        let away = Condition::Away("the object store cannot be reached: connection refused".into());
        let problems = [
            ("The store is away", refuse::store(&away)),
            ("There is no store", refuse::store(&Condition::Absent)),
            (
                "Briefly unavailable",
                Problem::unavailable(SHARD_AWAY, 1).into(),
            ),
        ];
        self.response("503", refused_for_now(problems))
    }
}

const SHARD_AWAY: &str = "The service's storage is briefly unavailable. Retry shortly.";

fn refused_for_now(problems: impl IntoIterator<Item = (&'static str, FileProblem)>) -> Response {
    let text = "Something that files need is away. Nothing was changed.";
    let refused = refusal(text, problems);
    ResponseBuilder::from(refused)
        .header("Retry-After", answer::number_header("Seconds to wait."))
        .build()
}
