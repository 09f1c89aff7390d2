//! `PATCH` and `DELETE /files/{file_id}`.

use domain::file::{Flaw, Status};
use serde_json::json;
use utoipa::openapi::path::{Operation, OperationBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::create::no;
use super::{OfFiles as _, examples, query, refusal};
use crate::docs::answer;
use crate::files::checked;
use crate::harbour::refuse;

pub(super) fn change() -> Operation {
    let bodies = [
        (
            "More time and other tags",
            json!({"ttl_seconds": 7200, "metadata": {"order": 8}}),
        ),
        ("Keep it until you say otherwise", json!({"pinned": true})),
    ];
    let records = [("Changed", answer::value(&examples::ready()))];
    let next = "It can no longer be changed.";
    let state = [("Gone", refuse::state(Status::Expired, next))];
    let wrong = [("Too short", no(checked::change(br#"{"ttl_seconds":60}"#)))];
    OperationBuilder::new()
        .operation_id(Some("changeFile"))
        .summary(Some("Change how long a file lives, its tags, or pin it"))
        .request_body(Some(super::body::<wire::file::request::ChangeFile>(bodies)))
        .response(
            "200",
            answer::with::<wire::file::FileRecord>("The record.", records),
        )
        .of_a_file()
        .response("409", refusal("The file has failed or expired.", state))
        .response("422", refusal("Fields cannot stand; each is named.", wrong))
        .build()
}

pub(super) fn delete() -> Operation {
    let force = ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .default(Some(false.into()))
        .build();
    let records = [
        ("Expired", answer::value(&examples::expired())),
        (
            "A session, aborted",
            answer::value(&examples::failed(Flaw::UploadAborted)),
        ),
    ];
    let wrong = "/files?force=perhaps".parse().unwrap_or_default();
    let wrong = [("Neither true nor false", no(checked::force(&wrong)))];
    OperationBuilder::new()
        .operation_id(Some("deleteFile"))
        .summary(Some("Delete a file, or abort its upload"))
        .description(Some(
            "A session is aborted and fails; a file expires and its bytes go, unless another file \
             of the project shares them. Answered also while the store is away.",
        ))
        .parameter(query(
            "force",
            "Even while cargo in flight name it: they may fail.",
            force,
        ))
        .response(
            "200",
            answer::with::<wire::file::FileRecord>("The record.", records),
        )
        .of_a_file()
        .response(
            "409",
            refusal("It is in use.", [("In use", refuse::in_use())]),
        )
        .response("422", refusal("The query cannot stand.", wrong))
        .build()
}
