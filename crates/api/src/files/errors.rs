//! The errors of the Files routes. Each says what the caller can do next.

use domain::file::{FileFailureReason, FileStatus};
use domain::storage_quota::StorageRefusal;
use domain::upload::MAX_UPLOAD_SESSIONS;
use outbound::health::DependencyHealth;

use crate::api_error::{ErrorCode, FileApiError};

/// The health watcher checks the store and the scanner again within this time.
const RETRY_AFTER_SECONDS: u32 = 5;

pub(crate) fn not_found() -> FileApiError {
    let message = "There is no such file in this project.";
    FileApiError::with_code(ErrorCode::FileNotFound, message)
}

pub(crate) fn plan_without_files() -> FileApiError {
    let message = "The free plan does not include file storage. Upgrade the plan to store files.";
    FileApiError::with_code(ErrorCode::FilesNotAllowedForPlan, message)
}

/// The file's status does not allow the request.
pub(crate) fn invalid_state(status: FileStatus, next: &str) -> FileApiError {
    let message = format!("The file's status is {}. {next}", status.as_str());
    FileApiError::with_code(ErrorCode::InvalidState, message)
}

pub(crate) fn file_in_use() -> FileApiError {
    let message = "Cargo in flight references this file. Wait until it is completed, or delete the \
                   file with force=true. The cargo may fail then.";
    FileApiError::with_code(ErrorCode::FileInUse, message)
}

pub(crate) fn storage_refused(refusal: StorageRefusal) -> FileApiError {
    match refusal {
        StorageRefusal::TooManySessions => {
            let message = format!(
                "This project has {MAX_UPLOAD_SESSIONS} open upload sessions, which is the maximum. \
                 Complete or delete one first: GET /files?status=uploading lists them."
            );
            FileApiError::with_code(ErrorCode::TooManyUploadSessions, message)
        }
        StorageRefusal::TooManyFiles { most } => {
            let message = format!(
                "Your organization stores {most} files, the maximum of its plan. Delete some \
                 files, or upgrade the plan."
            );
            FileApiError::with_code(ErrorCode::StorageQuotaExceeded, message)
        }
        StorageRefusal::TooManyBytes { most, stored } => {
            let message = format!(
                "Your organization stores {stored} of the {most} bytes that its plan allows, and \
                 this file would exceed the limit. Delete some files, or upgrade the plan."
            );
            FileApiError::with_code(ErrorCode::StorageQuotaExceeded, message)
        }
    }
}

pub(crate) fn store_unavailable(condition: &DependencyHealth) -> FileApiError {
    let message = match condition {
        DependencyHealth::NotConfigured => {
            "File storage is not configured on this installation: SVC_OBJECTS_URL is not set."
                .to_owned()
        }
        DependencyHealth::Unknown | DependencyHealth::Healthy => {
            "File storage has not been checked yet. Retry shortly.".to_owned()
        }
        DependencyHealth::Unreachable(reason) => {
            format!("File storage is unavailable: {reason}. Retry shortly.")
        }
        DependencyHealth::ProbeFailed(reason) => format!(
            "File storage cannot be used: {reason}. The operator of this installation must fix \
             it; `longshored doctor` shows how."
        ),
    };
    FileApiError::unavailable(ErrorCode::StorageUnavailable, message, RETRY_AFTER_SECONDS)
}

pub(crate) fn scanner_unavailable(reason: &str) -> FileApiError {
    let message = format!(
        "The malware scanner does not work: {reason}. The operator of this installation must fix \
         it; `longshored doctor` shows how."
    );
    FileApiError::unavailable(ErrorCode::ScannerUnavailable, message, RETRY_AFTER_SECONDS)
}

/// A call to the object store failed, although the last health check succeeded.
pub(crate) fn store_call_failed(
    failure: outbound::object_store::ObjectStoreFailure,
) -> FileApiError {
    store_unavailable(&DependencyHealth::Unreachable(failure.to_string())).with_cause(failure)
}

/// The uploaded bytes failed validation.
pub(crate) fn validation_failed(flaw: FileFailureReason) -> FileApiError {
    FileApiError::with_code(ErrorCode::FileRejected(flaw), validation_message(flaw))
}

const fn validation_message(flaw: FileFailureReason) -> &'static str {
    match flaw {
        FileFailureReason::SizeMismatch => {
            "The uploaded bytes do not have the declared size. Create a new file with the right \
             size."
        }
        FileFailureReason::ChecksumMismatch => {
            "The uploaded bytes do not have the declared SHA-256. Create a new file and upload \
             exactly the bytes that were hashed."
        }
        FileFailureReason::MagicByteMismatch => {
            "The uploaded bytes are not of the declared media type. Create a new file with the \
             right media type."
        }
        FileFailureReason::MalformedDocument => {
            "The document is damaged or incomplete. Repair it and create a new file."
        }
        FileFailureReason::MalformedImage => {
            "The image is damaged or incomplete. Repair it and create a new file."
        }
        FileFailureReason::MalformedVideo => {
            "The video is damaged or incomplete. Repair it and create a new file."
        }
        FileFailureReason::TooManyPages => {
            "The PDF has more than 100 pages. Split it and create new files."
        }
        FileFailureReason::VideoTooLong => {
            "The video is longer than 30 minutes. Split it and create new files."
        }
        FileFailureReason::EncryptedDocument => {
            "The document is encrypted. Save it without a password and create a new file."
        }
        FileFailureReason::MalwareDetected => "The malware scanner detected malware in this file.",
        FileFailureReason::ScanTimeout => {
            "The malware scan of this file did not finish in time. Create a new file to try again."
        }
        FileFailureReason::ScanLimitExceeded => {
            "The malware scanner cannot scan the whole file, so the file is not accepted. Make it \
             smaller, or split it."
        }
        FileFailureReason::UploadMissing => {
            "The upload is missing or incomplete. Create a new file, upload all of it and then \
             complete it."
        }
        FileFailureReason::UploadAborted => "The upload was aborted. Create a new file.",
        FileFailureReason::UploadAbandoned => "The upload was never completed. Create a new file.",
    }
}
