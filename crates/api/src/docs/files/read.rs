//! `GET /files`, `GET /files/{file_id}` and `GET /files/{file_id}/content`.

use domain::file::{FileFailureReason, FileKind, FileStatus};
use utoipa::openapi::path::{Operation, OperationBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::create::expect_error;
use super::{FileOperation as _, error_response, examples, query_parameter};
use crate::docs::responses;
use crate::files::checked;
use crate::files::errors;

pub(super) fn list() -> Operation {
    let words = |words: Vec<&'static str>| {
        let text = ObjectBuilder::new().schema_type(Type::String);
        text.enum_values(Some(words)).build()
    };
    let statuses = words(FileStatus::ALL.iter().map(|one| one.as_str()).collect());
    let kinds = words(FileKind::ALL.iter().map(|one| one.as_str()).collect());
    let limit = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(200))
        .default(Some(50.into()))
        .build();
    let cursor = ObjectBuilder::new().schema_type(Type::String).build();
    let page = wire::file::FileListResponse {
        files: vec![examples::ready_record(), examples::uploading_record()],
        next_cursor: Some("AQGbdtqAe3dLgFAAAAAAACo".to_owned()),
    };
    let wrong = "/files?status=lost&limit=0".parse().unwrap_or_default();
    let wrong = [(
        "Several at once",
        expect_error(checked::parse_list_query(&wrong)),
    )];
    OperationBuilder::new()
        .operation_id(Some("listFiles"))
        .summary(Some("The files of your project, newest first"))
        .parameter(query_parameter(
            "status",
            "Only files with this status.",
            statuses,
        ))
        .parameter(query_parameter("kind", "Only files of this kind.", kinds))
        .parameter(query_parameter(
            "limit",
            "The maximum number of files in a page.",
            limit,
        ))
        .parameter(query_parameter(
            "cursor",
            "The `next_cursor` of the previous page. Empty is the first page.",
            cursor,
        ))
        .response(
            "200",
            responses::json_response::<wire::file::FileListResponse>(
                "A page.",
                [("A page", responses::to_json(&page))],
            ),
        )
        .with_file_errors()
        .response("422", error_response("The query is invalid.", wrong))
        .build()
}

pub(super) fn get() -> Operation {
    let records = [
        ("Ready", responses::to_json(&examples::ready_record())),
        (
            "Uploading",
            responses::to_json(&examples::uploading_record()),
        ),
        (
            "Failed",
            responses::to_json(&examples::failed_record(FileFailureReason::MalwareDetected)),
        ),
    ];
    OperationBuilder::new()
        .operation_id(Some("getFile"))
        .summary(Some("Get a file record"))
        .response(
            "200",
            responses::json_response::<wire::file::FileRecord>("The file record.", records),
        )
        .with_file_id()
        .build()
}

pub(super) fn content() -> Operation {
    let link = [("A link", responses::to_json(&examples::content()))];
    let next = "Only a file with status ready can be downloaded.";
    let state = [(
        "Not ready",
        errors::invalid_state(FileStatus::Uploading, next),
    )];
    OperationBuilder::new()
        .operation_id(Some("getFileContent"))
        .summary(Some(
            "Get a download link for a ready file, valid for five minutes",
        ))
        .description(Some(
            "The link works without an API key. Share it with care.",
        ))
        .response(
            "200",
            responses::json_response::<wire::file::FileContentResponse>("The link.", link),
        )
        .with_file_id()
        .with_store_errors()
        .response("409", error_response("The file is not ready.", state))
        .build()
}
