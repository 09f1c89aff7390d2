//! `POST /files/{file_id}/complete`.

use domain::file::{Flaw, Status};
use domain::upload::Form;
use serde_json::json;
use utoipa::openapi::path::{Operation, OperationBuilder};

use super::create::no;
use super::{OfFiles as _, examples, refusal};
use crate::docs::answer;
use crate::files::checked;
use crate::harbour::refuse;

pub(super) fn complete() -> Operation {
    let part = |number: u32| {
        json!({
            "part_number": number, "etag": "\"b54357faf0632cce46e942fa68356b38\"",
            "checksum_sha256": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        })
    };
    let bodies = [
        ("One POST", json!({})),
        ("Every part", json!({"parts": [part(1), part(2)]})),
    ];
    let ready = [("Ready", answer::value(&examples::ready()))];
    let validating = [("Validating", answer::value(&examples::validating()))];
    let over = "Only a session that is uploading can be completed.";
    let state = [("Completed before", refuse::state(Status::Ready, over))];
    let missing = checked::complete(br#"{"parts":[]}"#, Form::Multipart { parts: 2 });
    let problems = [
        ("Other bytes", refuse::flaw(Flaw::ChecksumMismatch)),
        ("Another media type", refuse::flaw(Flaw::MagicByteMismatch)),
        ("Malware", refuse::flaw(Flaw::MalwareDetected)),
        ("Nothing was uploaded", refuse::flaw(Flaw::UploadMissing)),
        (
            "A part is missing from the list; the session stays open",
            no(missing),
        ),
    ];
    OperationBuilder::new()
        .operation_id(Some("completeFile"))
        .summary(Some(
            "Say that everything is uploaded, and hear the verdict",
        ))
        .description(Some(
            "The bytes are read once more: size, checksums, media type, structure, malware. The \
             verdict is waited for a few seconds. If it takes longer, the answer is 202: poll the \
             file, or complete it again to wait again.",
        ))
        .request_body(Some(super::body::<wire::file::request::CompleteFile>(
            bodies,
        )))
        .response(
            "200",
            answer::with::<wire::file::FileRecord>("It is ready.", ready),
        )
        .response(
            "202",
            answer::with::<wire::file::FileRecord>("The verdict is still to come.", validating),
        )
        .of_a_file()
        .with_the_store()
        .response(
            "409",
            refusal("The file is not in a state to be completed.", state),
        )
        .response(
            "422",
            refusal(
                "The file has failed; `error` is its failure_reason. Or the body cannot stand.",
                problems,
            ),
        )
        .build()
}
