//! `POST /files` and `POST /files/{file_id}/parts`.

use domain::file::Status;
use domain::storage::StorageRefusal;
use domain::upload::Form;
use outbound::health::Condition;
use serde_json::{Value, json};
use utoipa::openapi::path::{Operation, OperationBuilder};
use utoipa::openapi::response::Response;

use super::{OfFiles as _, examples, refusal, refused_for_now};
use crate::docs::answer;
use crate::files::checked;
use crate::harbour::refuse;
use crate::problem::{FileProblem, Problem};

pub(super) fn create() -> Operation {
    let sessions = [
        (
            "Up to 8 MB: one POST",
            answer::value(&examples::session(Some(examples::post()))),
        ),
        (
            "Larger: parts",
            answer::value(&examples::session(Some(examples::parts()))),
        ),
    ];
    let known = [("Nothing to upload", answer::value(&examples::session(None)))];
    let refused = Condition::Away("the object store cannot be reached: connection refused".into());
    let scanner = "the scanner must find the test file that every scanner knows: clean";
    let away = [
        ("The store is away", refuse::store(&refused)),
        ("There is no store", refuse::store(&Condition::Absent)),
        ("The scanner cannot be relied on", refuse::scanner(scanner)),
    ];
    let too_many = [(
        "20 are open",
        refuse::storage(StorageRefusal::TooManySessions),
    )];
    OperationBuilder::new()
        .operation_id(Some("createFile"))
        .summary(Some("Declare a file, and get a permission to upload it"))
        .description(Some(
            "Bytes go to the store directly; then complete the session. Only the declared bytes \
             become a ready file: size, SHA-256, media type, structure and malware are checked. \
             The permission ends after 15 minutes and can be refreshed; the session ends after \
             24 hours. If the project has these bytes already, there is nothing to upload.",
        ))
        .request_body(Some(super::body::<wire::file::request::CreateFile>(
            examples::creations(),
        )))
        .response(
            "201",
            answer::with::<wire::file::Session>("Upload it now.", sessions),
        )
        .response(
            "200",
            answer::with::<wire::file::Session>("It is ready.", known),
        )
        .of_files()
        .response("403", forbidden())
        .response("409", refusal("Too many uploads are open.", too_many))
        .response(
            "413",
            refusal("The file, or the body, is too large.", too_large()),
        )
        .response(
            "415",
            refusal("Not a media type that is stored.", unsupported()),
        )
        .response(
            "422",
            refusal("Fields cannot stand; each is named.", invalid()),
        )
        .response("503", refused_for_now(away))
        .build()
}

pub(super) fn refresh() -> Operation {
    let refreshed = |upload| {
        answer::value(&wire::file::Refreshed {
            id: examples::session(None).id,
            status: Status::Uploading.as_str(),
            upload,
        })
    };
    let answers = [
        ("One POST", refreshed(examples::post())),
        ("Parts", refreshed(examples::parts())),
    ];
    let bodies = [
        ("Every part, or the POST", json!({})),
        ("Some parts", json!({"part_numbers": [1, 3]})),
    ];
    let over = "Only a session that is uploading has something to refresh.";
    let state = [("Already ready", refuse::state(Status::Ready, over))];
    let parts = Form::Multipart { parts: 2 };
    let wrong = checked::refresh(br#"{"part_numbers":[0]}"#, parts);
    OperationBuilder::new()
        .operation_id(Some("refreshParts"))
        .summary(Some("Get the permission to upload once more"))
        .description(Some(
            "The same conditions with more time: other bytes need another file.",
        ))
        .request_body(Some(super::body::<wire::file::request::RefreshParts>(
            bodies,
        )))
        .response(
            "200",
            answer::with::<wire::file::Refreshed>("Go on.", answers),
        )
        .of_a_file()
        .with_the_store()
        .response("409", refusal("The session is over.", state))
        .response(
            "422",
            refusal("There is no such part.", [("No such part", no(wrong))]),
        )
        .build()
}

fn forbidden() -> Response {
    let inactive: Problem = domain::api_key::KeyRefusal::ProjectInactive.into();
    let (most, stored) = (53_687_091_200, 53_687_000_000);
    let problems = [
        ("The free plan on cloud", refuse::plan()),
        (
            "Too many files",
            refuse::storage(StorageRefusal::TooManyFiles { most: 10_000 }),
        ),
        (
            "Too many bytes",
            refuse::storage(StorageRefusal::TooManyBytes { most, stored }),
        ),
    ];
    let shown = problems.map(|(summary, it)| (summary, answer::value(&it.into_refusal())));
    let inactive = ("Inactive project", answer::value(&inactive.into_refusal()));
    answer::with::<wire::detail::Refusal>(
        "The project is inactive, or its plan does not allow it.",
        [inactive].into_iter().chain(shown),
    )
    .build()
}

fn too_large() -> [(&'static str, FileProblem); 1] {
    let body = declared(&json!("image/png"), &json!(20_971_521));
    [("A large image", no(checked::create(&body)))]
}

fn unsupported() -> [(&'static str, FileProblem); 1] {
    let body = declared(&json!("application/zip"), &json!(100));
    [("An archive", no(checked::create(&body)))]
}

fn invalid() -> [(&'static str, FileProblem); 2] {
    let body = declared(&json!("image/png"), &json!(0));
    [
        ("Nothing to store", no(checked::create(&body))),
        ("Not JSON", no(checked::create(b"{\"filename\": }"))),
    ]
}

fn declared(media_type: &Value, size_bytes: &Value) -> Vec<u8> {
    let (filename, sha256) = ("crane.png", "00".repeat(32));
    json!({
        "filename": filename, "media_type": media_type, "size_bytes": size_bytes, "sha256": sha256,
    })
    .to_string()
    .into_bytes()
}

pub(super) fn no<T>(checked: Result<T, FileProblem>) -> FileProblem {
    match checked {
        Err(problem) => problem,
        Ok(_) => Problem::internal("an example of a refusal was accepted").into(),
    }
}
