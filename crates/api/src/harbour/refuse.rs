//! Every no of the Files routes, and what to do next.

use axum::http::StatusCode;
use domain::file::{Flaw, Status};
use domain::storage::StorageRefusal;
use domain::upload::MOST_SESSIONS;
use outbound::health::Condition;

use crate::problem::FileProblem;

/// The watcher looks again within this time.
const SOON: u32 = 5;

pub(crate) fn not_found() -> FileProblem {
    let message = "There is no such file in this project.";
    FileProblem::coded(StatusCode::NOT_FOUND, "file_not_found", message)
}

pub(crate) fn plan() -> FileProblem {
    let message = "The free plan has no files. Choose another plan to store files.";
    let status = StatusCode::FORBIDDEN;
    FileProblem::coded(status, "files_not_allowed_for_plan", message)
}

/// The file is not in a state in which this can be done.
pub(crate) fn state(status: Status, next: &str) -> FileProblem {
    let message = format!("The file is {}. {next}", status.as_str());
    FileProblem::coded(StatusCode::CONFLICT, "invalid_state", message)
}

pub(crate) fn in_use() -> FileProblem {
    let message = "Cargo in flight name this file. Wait until they are done, or delete it with \
                   force=true: they may fail then.";
    FileProblem::coded(StatusCode::CONFLICT, "file_in_use", message)
}

pub(crate) fn storage(refusal: StorageRefusal) -> FileProblem {
    let forbidden = StatusCode::FORBIDDEN;
    match refusal {
        StorageRefusal::TooManySessions => {
            let message = format!(
                "{MOST_SESSIONS} uploads of this project are open, and more may not be. Complete \
                 or delete one first: GET /files?status=uploading lists them."
            );
            FileProblem::coded(StatusCode::CONFLICT, "too_many_upload_sessions", message)
        }
        StorageRefusal::TooManyFiles { most } => {
            let message = format!(
                "Your organization stores {most} files, as many as its plan allows. Delete some, \
                 or choose a larger plan."
            );
            FileProblem::coded(forbidden, "quota_exceeded", message)
        }
        StorageRefusal::TooManyBytes { most, stored } => {
            let message = format!(
                "Your organization stores {stored} of the {most} bytes that its plan allows, and \
                 this file does not fit into the rest. Delete some, or choose a larger plan."
            );
            FileProblem::coded(forbidden, "quota_exceeded", message)
        }
    }
}

pub(crate) fn store(condition: &Condition) -> FileProblem {
    let message = match condition {
        Condition::Absent => {
            "File storage is not configured on this installation: SVC_OBJECTS_URL is not set."
                .to_owned()
        }
        Condition::Unknown | Condition::Well => {
            "File storage is being examined. Retry shortly.".to_owned()
        }
        Condition::Away(reason) => format!("File storage is away: {reason}. Retry shortly."),
        Condition::Failed(reason) => format!(
            "File storage cannot be used: {reason}. The operator of this installation has to \
             mend it; `longshored doctor` says how."
        ),
    };
    FileProblem::unavailable("storage_unavailable", message, SOON)
}

pub(crate) fn scanner(reason: &str) -> FileProblem {
    let message = format!(
        "The malware scanner cannot be relied on: {reason}. The operator of this installation has \
         to mend it; `longshored doctor` says how."
    );
    FileProblem::unavailable("scanner_unavailable", message, SOON)
}

/// A call to the store that went wrong although it was well a moment ago.
pub(crate) fn failed_call(failure: outbound::objects::Failure) -> FileProblem {
    store(&Condition::Away(failure.to_string())).because(failure)
}

/// What was found wrong with the bytes.
pub(crate) fn flaw(flaw: Flaw) -> FileProblem {
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    FileProblem::coded(status, flaw.as_str(), in_words(flaw))
}

const fn in_words(flaw: Flaw) -> &'static str {
    match flaw {
        Flaw::SizeMismatch => {
            "What was uploaded is not of the declared size. Create a new file with its true size."
        }
        Flaw::ChecksumMismatch => {
            "What was uploaded does not have the declared SHA-256. Create a new file and upload \
             exactly the bytes that were hashed."
        }
        Flaw::MagicByteMismatch => {
            "The bytes are not of the declared media type. Create a new file with their true type."
        }
        Flaw::MalformedDocument => "The document cannot be read: it is damaged or incomplete.",
        Flaw::MalformedImage => "The image cannot be read: it is damaged or incomplete.",
        Flaw::MalformedVideo => "The video cannot be read: it is damaged or incomplete.",
        Flaw::TooManyPages => "The PDF has more than 100 pages. Split it.",
        Flaw::VideoTooLong => "The video is longer than 30 minutes. Split it.",
        Flaw::EncryptedDocument => {
            "The document is encrypted. Store it without a password and create a new file."
        }
        Flaw::MalwareDetected => "The malware scanner found something in this file.",
        Flaw::ScanTimeout => {
            "The malware scanner gave no verdict on this file in time. Create a new file to try \
             again."
        }
        Flaw::ScanLimitExceeded => {
            "The malware scanner cannot look through the whole file, so that it cannot be called \
             clean."
        }
        Flaw::UploadMissing => {
            "Nothing was uploaded, or not every part of it. Create a new file, upload it whole \
             and then complete it."
        }
        Flaw::UploadAborted => "The upload was aborted. Create a new file.",
        Flaw::UploadAbandoned => "The upload was never completed. Create a new file.",
    }
}
