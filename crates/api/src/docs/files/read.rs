//! `GET /files`, `GET /files/{file_id}` and `GET /files/{file_id}/content`.

use domain::file::{Flaw, Kind, Status};
use utoipa::openapi::path::{Operation, OperationBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::create::no;
use super::{OfFiles as _, examples, query, refusal};
use crate::docs::answer;
use crate::files::checked;
use crate::harbour::refuse;

pub(super) fn list() -> Operation {
    let words = |words: Vec<&'static str>| {
        let text = ObjectBuilder::new().schema_type(Type::String);
        text.enum_values(Some(words)).build()
    };
    let statuses = words(Status::ALL.iter().map(|one| one.as_str()).collect());
    let kinds = words(Kind::ALL.iter().map(|one| one.as_str()).collect());
    let limit = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(200))
        .default(Some(50.into()))
        .build();
    let cursor = ObjectBuilder::new().schema_type(Type::String).build();
    let page = wire::file::FileList {
        files: vec![examples::ready(), examples::uploading()],
        next_cursor: Some("AQGbdtqAe3dLgFAAAAAAACo".to_owned()),
    };
    let wrong = "/files?status=lost&limit=0".parse().unwrap_or_default();
    let wrong = [("Several at once", no(checked::listing(&wrong)))];
    OperationBuilder::new()
        .operation_id(Some("listFiles"))
        .summary(Some("The files of your project, newest first"))
        .parameter(query("status", "Only files that stand so.", statuses))
        .parameter(query("kind", "Only files of this kind.", kinds))
        .parameter(query("limit", "The most files of a page.", limit))
        .parameter(query(
            "cursor",
            "The `next_cursor` of the page before.",
            cursor,
        ))
        .response(
            "200",
            answer::with::<wire::file::FileList>("A page.", [("A page", answer::value(&page))]),
        )
        .of_files()
        .response("422", refusal("The query cannot stand.", wrong))
        .build()
}

pub(super) fn get() -> Operation {
    let records = [
        ("Ready", answer::value(&examples::ready())),
        ("Uploading", answer::value(&examples::uploading())),
        (
            "Failed",
            answer::value(&examples::failed(Flaw::MalwareDetected)),
        ),
    ];
    OperationBuilder::new()
        .operation_id(Some("getFile"))
        .summary(Some("How a file stands"))
        .response(
            "200",
            answer::with::<wire::file::FileRecord>("The record.", records),
        )
        .of_a_file()
        .build()
}

pub(super) fn content() -> Operation {
    let link = [("A link", answer::value(&examples::content()))];
    let next = "Only a file that is ready can be downloaded.";
    let state = [("Not ready", refuse::state(Status::Uploading, next))];
    OperationBuilder::new()
        .operation_id(Some("getFileContent"))
        .summary(Some(
            "A link to the bytes of a ready file, for five minutes",
        ))
        .description(Some("The link needs no key: pass it on with care."))
        .response(
            "200",
            answer::with::<wire::file::Content>("The link.", link),
        )
        .of_a_file()
        .with_the_store()
        .response("409", refusal("The file is not ready.", state))
        .build()
}
