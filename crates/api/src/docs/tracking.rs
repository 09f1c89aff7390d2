//! `GET /cargo/{cargo_id}/tracking`.

use utoipa::openapi::Required;
use utoipa::openapi::path::{Operation, OperationBuilder, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::answer::{self, Guarded as _};
use super::examples;
use crate::problem::Problem;

pub(super) fn operation() -> Operation {
    let cargo_id = ParameterBuilder::new()
        .name("cargo_id")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("What load answered."))
        .schema(Some(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .pattern(Some("^crg_[0-9a-f]{32}$")),
        ))
        .build();
    let records = [
        ("Delivered", answer::value(&examples::delivered())),
        ("Pending", answer::value(&examples::pending())),
        (
            "Failed, without a callback",
            answer::value(&examples::failed()),
        ),
    ];
    let not_found = [("Not yours, or not there", Problem::cargo_not_found())];
    OperationBuilder::new()
        .tag("Cargo")
        .operation_id(Some("track"))
        .summary(Some("Where a cargo stands, and what came of it"))
        .description(Some(
            "The status moves PENDING, BATCHED, PROCESSING, COMPLETED and, with a callback, on to \
             callback_delivered or callback_failed. A batch that a provider lost sends its cargo \
             back to PENDING. The result stays here after any of the last three.",
        ))
        .parameter(cargo_id)
        .response(
            "200",
            answer::with::<wire::tracking::Tracking>("The record.", records),
        )
        .response(
            "404",
            answer::refusal("There is no such cargo in your project.", not_found),
        )
        .guarded()
        .build()
}
