//! `POST /files` and `POST /files/{file_id}/parts`.

use domain::file::FileStatus;
use domain::key_scope::KeyRight;
use domain::storage_quota::StorageRefusal;
use domain::upload::UploadMethod;
use outbound::health::DependencyHealth;
use serde_json::{Value, json};
use utoipa::openapi::path::{Operation, OperationBuilder};
use utoipa::openapi::response::Response;

use super::{FileOperation as _, error_response, examples, unavailable_response, with_file_links};
use crate::api_error::{ApiError, FileApiError};
use crate::docs::responses;
use crate::files::checked;
use crate::files::errors;

pub(super) fn create() -> Operation {
    let sessions = [
        (
            "Up to 8 MB: single-shot upload",
            responses::to_json(&examples::session(Some(examples::post_upload()))),
        ),
        (
            "Larger: multipart upload",
            responses::to_json(&examples::session(Some(examples::multipart_upload()))),
        ),
    ];
    let known = [(
        "Nothing to upload",
        responses::to_json(&examples::session(None)),
    )];
    let too_many = [(
        "20 sessions are open",
        errors::storage_refused(StorageRefusal::TooManySessions),
    )];
    OperationBuilder::new()
        .operation_id(Some("createFile"))
        .summary(Some("Create an upload session"))
        .description(Some(
            "Upload the bytes to the object store with the presigned grant, then complete the \
             session. A file becomes ready only after its size, SHA-256, media type, structure \
             and malware scan are checked. The grant expires after 15 minutes and can be \
             refreshed. The session expires after 24 hours. If the project already has a ready \
             file with the same bytes, no upload is needed.",
        ))
        .request_body(Some(super::request_body::<
            wire::file::request::CreateFileRequest,
        >(examples::create_requests())))
        .response("201", session_response("The session is open.", sessions))
        .response("200", session_response("The file is ready.", known))
        .with_file_errors()
        .with_body_errors()
        .response("403", forbidden())
        .response(
            "409",
            error_response("Too many upload sessions are open.", too_many),
        )
        .response(
            "413",
            error_response("The file, or the body, is too large.", too_large()),
        )
        .response(
            "415",
            error_response(
                "The media type is not supported, or the body has a Content-Encoding.",
                unsupported(),
            ),
        )
        .response(
            "422",
            error_response("Fields are invalid. All of them are listed.", invalid()),
        )
        .response("503", unavailable_response(unavailable()))
        .build()
}

fn session_response(
    description: &str,
    examples: impl IntoIterator<Item = (&'static str, Value)>,
) -> Response {
    let response =
        responses::json_response::<wire::file::UploadSessionResponse>(description, examples);
    with_file_links(response).build()
}

/// Why files cannot be uploaded at the moment.
fn unavailable() -> [(&'static str, FileApiError); 3] {
    let refused = DependencyHealth::Unreachable(
        "the object store cannot be reached: connection refused".into(),
    );
    let scanner = "the scanner must find the EICAR test file: clean";
    [
        (
            "The object store is unavailable",
            errors::store_unavailable(&refused),
        ),
        (
            "No object store is configured",
            errors::store_unavailable(&DependencyHealth::NotConfigured),
        ),
        (
            "The scanner does not work",
            errors::scanner_unavailable(scanner),
        ),
    ]
}

pub(super) fn refresh() -> Operation {
    let refreshed = |upload| {
        responses::to_json(&wire::file::RefreshedUploadResponse {
            id: examples::session(None).id,
            status: FileStatus::Uploading.as_str(),
            upload,
        })
    };
    let answers = [
        ("Single-shot upload", refreshed(examples::post_upload())),
        ("Multipart upload", refreshed(examples::multipart_upload())),
    ];
    let bodies = [
        ("All parts, or the single-shot upload", json!({})),
        ("Some parts", json!({"part_numbers": [1, 3]})),
    ];
    let over = "Grants can be refreshed only while the status is uploading.";
    let state = [(
        "Already ready",
        errors::invalid_state(FileStatus::Ready, over),
    )];
    let parts = UploadMethod::Multipart { parts: 2 };
    let wrong = checked::parse_refresh(br#"{"part_numbers":[0]}"#, parts);
    OperationBuilder::new()
        .operation_id(Some("refreshParts"))
        .summary(Some("Refresh the presigned grants of an upload session"))
        .description(Some(
            "The new grants have the same conditions and a new expiry. Different bytes need a new \
             file.",
        ))
        .request_body(Some(super::request_body::<
            wire::file::request::RefreshPartsRequest,
        >(bodies)))
        .response(
            "200",
            responses::json_response::<wire::file::RefreshedUploadResponse>(
                "The new grants.",
                answers,
            ),
        )
        .with_file_id()
        .with_store_errors()
        .with_body_errors()
        .response(
            "409",
            error_response("The file's status is not uploading.", state),
        )
        .response(
            "422",
            error_response(
                "The part number is invalid.",
                [("No such part", expect_error(wrong))],
            ),
        )
        .build()
}

fn forbidden() -> Response {
    let keys = responses::forbidden_errors(KeyRight::Files);
    let keys = keys.map(|(summary, it)| (summary, responses::to_json(&it.into_body())));
    let (most, stored) = (53_687_091_200, 53_687_000_000);
    let problems = [
        ("The free plan on cloud", errors::plan_without_files()),
        (
            "Too many files",
            errors::storage_refused(StorageRefusal::TooManyFiles { most: 10_000 }),
        ),
        (
            "Too many bytes",
            errors::storage_refused(StorageRefusal::TooManyBytes { most, stored }),
        ),
    ];
    let shown = problems.map(|(summary, it)| (summary, responses::to_json(&it.into_body())));
    responses::json_response::<wire::error_body::ErrorBody>(
        "The project is inactive, the scope of the API key does not include the request, or the \
         plan does not allow this file.",
        keys.into_iter().chain(shown),
    )
    .build()
}

fn too_large() -> [(&'static str, FileApiError); 2] {
    let body = declaration(&json!("image/png"), &json!(20_971_521));
    let image = expect_error(checked::parse_create(&body));
    [("A large image", image), super::too_large_body()]
}

fn unsupported() -> [(&'static str, FileApiError); 2] {
    let body = declaration(&json!("application/zip"), &json!(100));
    let archive = expect_error(checked::parse_create(&body));
    [("An archive", archive), super::compressed_body()]
}

fn invalid() -> [(&'static str, FileApiError); 2] {
    let body = declaration(&json!("image/png"), &json!(0));
    [
        ("Empty file", expect_error(checked::parse_create(&body))),
        (
            "Not JSON",
            expect_error(checked::parse_create(b"{\"filename\": }")),
        ),
    ]
}

fn declaration(media_type: &Value, size_bytes: &Value) -> Vec<u8> {
    let (filename, sha256) = ("crane.png", "00".repeat(32));
    json!({
        "filename": filename, "media_type": media_type, "size_bytes": size_bytes, "sha256": sha256,
    })
    .to_string()
    .into_bytes()
}

pub(super) fn expect_error<T>(checked: Result<T, FileApiError>) -> FileApiError {
    match checked {
        Err(problem) => problem,
        Ok(_) => ApiError::internal("an example of a refusal was accepted").into(),
    }
}
