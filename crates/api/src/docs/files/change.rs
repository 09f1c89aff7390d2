//! `PATCH` and `DELETE /files/{file_id}`.

use domain::file::{FileFailureReason, FileStatus};
use serde_json::json;
use utoipa::openapi::path::{Operation, OperationBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::create::expect_error;
use super::{FileOperation as _, error_response, examples, query_parameter};
use crate::docs::responses;
use crate::files::checked;
use crate::files::errors;

pub(super) fn change() -> Operation {
    let bodies = [
        (
            "A longer time to live and new metadata",
            json!({"ttl_seconds": 7200, "metadata": {"order": 8}}),
        ),
        (
            "Keep the file until it is unpinned",
            json!({"pinned": true}),
        ),
    ];
    let records = [("Changed", responses::to_json(&examples::ready_record()))];
    let next = "A failed or expired file cannot be changed.";
    let state = [("Expired", errors::invalid_state(FileStatus::Expired, next))];
    let wrong = [(
        "Too short",
        expect_error(checked::parse_change(br#"{"ttl_seconds":60}"#)),
    )];
    OperationBuilder::new()
        .operation_id(Some("changeFile"))
        .summary(Some("Change a file's time to live, metadata or pin"))
        .request_body(Some(super::request_body::<
            wire::file::request::ChangeFileRequest,
        >(bodies)))
        .response(
            "200",
            responses::json_response::<wire::file::FileRecord>("The file record.", records),
        )
        .with_file_id()
        .with_body_errors()
        .response(
            "409",
            error_response("The file has failed or expired.", state),
        )
        .response(
            "422",
            error_response("Fields are invalid. All of them are listed.", wrong),
        )
        .build()
}

pub(super) fn delete() -> Operation {
    let force = ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .default(Some(false.into()))
        .build();
    let records = [
        ("Expired", responses::to_json(&examples::expired_record())),
        (
            "An aborted upload session",
            responses::to_json(&examples::failed_record(FileFailureReason::UploadAborted)),
        ),
    ];
    let wrong = "/files?force=perhaps".parse().unwrap_or_default();
    let wrong = [(
        "Neither true nor false",
        expect_error(checked::parse_force(&wrong)),
    )];
    OperationBuilder::new()
        .operation_id(Some("deleteFile"))
        .summary(Some("Delete a file, or abort its upload"))
        .description(Some(
            "An open upload session is aborted and its status becomes failed. Any other file \
             becomes expired, and its bytes are deleted unless another file of the project \
             shares them. Works also while the object store is unavailable.",
        ))
        .parameter(query_parameter(
            "force",
            "Delete the file even if cargo in flight references it. That cargo may fail. `1`, \
             `yes` and `on` mean true, `0`, `no` and `off` false, all in any case.",
            force,
        ))
        .response(
            "200",
            responses::json_response::<wire::file::FileRecord>("The file record.", records),
        )
        .with_file_id()
        .response(
            "409",
            error_response("The file is in use.", [("In use", errors::file_in_use())]),
        )
        .response("422", error_response("The query is invalid.", wrong))
        .build()
}
