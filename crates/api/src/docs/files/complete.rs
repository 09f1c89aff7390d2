//! `POST /files/{file_id}/complete`.

use domain::file::{FileFailureReason, FileStatus};
use domain::upload::UploadMethod;
use serde_json::json;
use utoipa::openapi::path::{Operation, OperationBuilder};

use super::create::expect_error;
use super::{FileOperation as _, error_response, examples};
use crate::docs::responses;
use crate::files::checked;
use crate::files::errors;

pub(super) fn complete() -> Operation {
    let part = |number: u32| {
        json!({
            "part_number": number, "etag": "\"b54357faf0632cce46e942fa68356b38\"",
            "checksum_sha256": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        })
    };
    let bodies = [
        ("Single-shot upload", json!({})),
        ("All parts", json!({"parts": [part(1), part(2)]})),
    ];
    let ready = [("Ready", responses::to_json(&examples::ready_record()))];
    let validating = [(
        "Validating",
        responses::to_json(&examples::validating_record()),
    )];
    let over = "Only a file with status uploading can be completed.";
    let state = [(
        "Already completed",
        errors::invalid_state(FileStatus::Ready, over),
    )];
    let missing = checked::parse_complete(br#"{"parts":[]}"#, UploadMethod::Multipart { parts: 2 });
    let problems = [
        (
            "Wrong checksum",
            errors::validation_failed(FileFailureReason::ChecksumMismatch),
        ),
        (
            "Wrong media type",
            errors::validation_failed(FileFailureReason::MagicByteMismatch),
        ),
        (
            "Malware",
            errors::validation_failed(FileFailureReason::MalwareDetected),
        ),
        (
            "No upload",
            errors::validation_failed(FileFailureReason::UploadMissing),
        ),
        (
            "A part is missing from the list. The session stays open",
            expect_error(missing),
        ),
    ];
    OperationBuilder::new()
        .operation_id(Some("completeFile"))
        .summary(Some("Complete an upload and wait for its validation"))
        .description(Some(
            "The service reads the bytes and checks size, checksums, media type, structure and \
             malware. It waits a few seconds for the verdict. If validation takes longer, the \
             answer is 202: poll the file, or call complete again to wait again.",
        ))
        .request_body(Some(super::request_body::<
            wire::file::request::CompleteFileRequest,
        >(bodies)))
        .response(
            "200",
            responses::json_response::<wire::file::FileRecord>("The file is ready.", ready),
        )
        .response(
            "202",
            responses::json_response::<wire::file::FileRecord>(
                "Validation is still running.",
                validating,
            ),
        )
        .with_file_id()
        .with_store_errors()
        .with_body_errors()
        .response(
            "409",
            error_response("The file's status is not uploading or validating.", state),
        )
        .response(
            "422",
            error_response(
                "Validation failed, and `error` is the failure_reason. Or the body is invalid.",
                problems,
            ),
        )
        .build()
}
