//! Texts about files: why a file failed, and what to do.

use std::borrow::Borrow;

use domain::file::{FileFailureReason, FileStatus};

/// The chip class of a status.
pub(super) fn status_chip(status: impl Borrow<FileStatus>) -> &'static str {
    match *status.borrow() {
        FileStatus::Uploading | FileStatus::Expired => "calm",
        FileStatus::Validating => "busy",
        FileStatus::Ready => "good",
        FileStatus::Failed => "bad",
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct FailureExplanation {
    pub(super) reason: &'static str,
    pub(super) remedy: &'static str,
}

pub(super) fn explain(flaw: impl Borrow<FileFailureReason>) -> FailureExplanation {
    let (why, remedy) = match *flaw.borrow() {
        FileFailureReason::SizeMismatch => (
            "The uploaded file does not have the declared size.",
            "The file may have changed during the upload. Upload it again.",
        ),
        FileFailureReason::ChecksumMismatch => (
            "The uploaded file does not have the declared SHA-256.",
            "The file may have changed during the upload. Upload it again. If it fails again, \
             check for a proxy that modifies uploads.",
        ),
        FileFailureReason::MagicByteMismatch => (
            "The content does not match the media type.",
            "Check the file extension, or save the file in the format of its extension.",
        ),
        FileFailureReason::MalformedDocument => (
            "The document is damaged or incomplete.",
            "Open it, save a new copy and upload that. Text files must be UTF-8.",
        ),
        FileFailureReason::MalformedImage => (
            "The image is damaged or incomplete.",
            "Open it, save a new copy and upload that.",
        ),
        FileFailureReason::MalformedVideo => (
            "The video is damaged or incomplete.",
            "Export it again, for example as MP4, and upload that.",
        ),
        FileFailureReason::TooManyPages => (
            "The PDF has more than 100 pages.",
            "Split it and upload the parts.",
        ),
        FileFailureReason::VideoTooLong => (
            "The video is longer than 30 minutes.",
            "Split it and upload the parts.",
        ),
        FileFailureReason::EncryptedDocument => (
            "The document is encrypted.",
            "Save it without a password and upload that.",
        ),
        FileFailureReason::MalwareDetected => (
            "The malware scanner detected malware in this file.",
            "Longshore has deleted the content. Check the source of the file before you open it.",
        ),
        FileFailureReason::ScanTimeout => (
            "The malware scan timed out.",
            "Upload it again. If it fails again, ask an operator to check the malware scanner.",
        ),
        FileFailureReason::ScanLimitExceeded => (
            "The malware scanner cannot scan the whole file.",
            "Make the file smaller or less deeply nested.",
        ),
        FileFailureReason::UploadMissing => (
            "The upload is missing or incomplete.",
            "Upload all parts again, then complete the upload.",
        ),
        FileFailureReason::UploadAborted => (
            "The upload was aborted.",
            "The file itself is fine. Upload it again if you need it.",
        ),
        FileFailureReason::UploadAbandoned => (
            "The upload was not completed within 24 hours.",
            "Upload it again, and keep the page open until the file is ready.",
        ),
    };
    FailureExplanation {
        reason: why,
        remedy,
    }
}
