//! The pieces that answers are described with.

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

use crate::problem::Problem;

/// A body, and what it can look like. Examples are shown in this order.
pub(super) fn json<T: ToSchema>(
    examples: impl IntoIterator<Item = (&'static str, Value)>,
) -> Content {
    let named = |(number, (summary, value)): (usize, (&str, Value))| {
        let example: Example = ExampleBuilder::new()
            .summary(summary)
            .value(Some(value))
            .build();
        // They are sorted by name.
        (format!("{number:02}"), example)
    };
    ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(T::name())))
        .examples_from_iter(examples.into_iter().enumerate().map(named))
        .build()
}

/// An answer with a body of ours.
pub(super) fn with<T: ToSchema>(
    description: &str,
    examples: impl IntoIterator<Item = (&'static str, Value)>,
) -> ResponseBuilder {
    let content = json::<T>(examples);
    ResponseBuilder::new()
        .description(description)
        .content("application/json", content)
}

/// A no, shown by what the code itself says.
pub(super) fn refusal(
    description: &str,
    problems: impl IntoIterator<Item = (&'static str, Problem)>,
) -> ResponseBuilder {
    let shown = |(summary, problem): (_, Problem)| (summary, value(&problem.into_refusal()));
    with::<wire::detail::Refusal>(description, problems.into_iter().map(shown))
}

pub(super) fn value(body: &impl Serialize) -> Value {
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

/// What every route with a key may answer besides.
pub(super) trait Guarded {
    fn guarded(self) -> Self;
}

impl Guarded for OperationBuilder {
    fn guarded(self) -> Self {
        use domain::api_key::KeyRefusal::{Expired, Malformed, Missing, ProjectInactive, Unknown};
        let keys = [
            ("No key", Missing.into()),
            ("Not of the form svc_sk_…", Malformed.into()),
            ("Unknown or deactivated", Unknown.into()),
            ("Expired", Expired.into()),
        ];
        let inactive = [("Inactive", ProjectInactive.into())];
        let failed = [("Nothing of the cause", Problem::internal(""))];
        self.response("401", refusal("The key is refused.", keys))
            .response("403", refusal("The project is inactive.", inactive))
            .response("500", refusal("We failed.", failed))
            .response("503", away())
    }
}

fn away() -> Response {
    let detail = "The service's storage is briefly unavailable. Retry shortly.";
    let problems = [("Briefly unavailable", Problem::unavailable(detail, 1))];
    refusal(
        "Something that your organization needs is away. Nothing was accepted.",
        problems,
    )
    .header("Retry-After", number_header("Seconds to wait."))
    .build()
}
