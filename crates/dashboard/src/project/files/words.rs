//! What is said of a file: how its state looks, why it failed, and what helps.

use std::borrow::Borrow;

use domain::file::{Flaw, Status};

/// How a state looks.
pub(super) fn chip(status: impl Borrow<Status>) -> &'static str {
    match *status.borrow() {
        Status::Uploading | Status::Expired => "calm",
        Status::Validating => "busy",
        Status::Ready => "good",
        Status::Failed => "bad",
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Said {
    pub(super) why: &'static str,
    pub(super) remedy: &'static str,
}

pub(super) fn of(flaw: impl Borrow<Flaw>) -> Said {
    let (why, remedy) = match *flaw.borrow() {
        Flaw::SizeMismatch => (
            "What was uploaded is not of the declared size.",
            "The file may have changed while it was sent. Upload it again.",
        ),
        Flaw::ChecksumMismatch => (
            "What was uploaded does not have the declared SHA-256.",
            "The file may have changed while it was sent. Upload it again; if it happens twice, something on the way changes bytes.",
        ),
        Flaw::MagicByteMismatch => (
            "The bytes are not what the media type says.",
            "Look whether the file has the right ending, or save it in the format that its ending promises.",
        ),
        Flaw::MalformedDocument => (
            "The document cannot be read: it is damaged or incomplete.",
            "Open it, save it anew and upload that. Texts must be UTF-8.",
        ),
        Flaw::MalformedImage => (
            "The image cannot be read: it is damaged or incomplete.",
            "Open it, save it anew and upload that.",
        ),
        Flaw::MalformedVideo => (
            "The video cannot be read: it is damaged or incomplete.",
            "Export it anew, for example as MP4, and upload that.",
        ),
        Flaw::TooManyPages => (
            "The PDF has more than 100 pages.",
            "Split it, and upload the parts.",
        ),
        Flaw::VideoTooLong => (
            "The video is longer than 30 minutes.",
            "Cut it, and upload the parts.",
        ),
        Flaw::EncryptedDocument => (
            "The document is encrypted.",
            "Store it without a password and upload that.",
        ),
        Flaw::MalwareDetected => (
            "The malware scanner found something in this file.",
            "Its bytes are gone from here. Look at where the file comes from before you open it.",
        ),
        Flaw::ScanTimeout => (
            "The malware scanner gave no verdict in time.",
            "Upload it again. If it happens twice, ask whoever runs the service to look at the scanner.",
        ),
        Flaw::ScanLimitExceeded => (
            "The malware scanner cannot look through the whole file.",
            "Make it smaller or less nested: nothing is called clean on a guess.",
        ),
        Flaw::UploadMissing => (
            "Nothing was uploaded, or not every part of it.",
            "Upload it again, whole, and complete it then.",
        ),
        Flaw::UploadAborted => (
            "The upload was aborted.",
            "Nothing is wrong with the file. Upload it again when you want it.",
        ),
        Flaw::UploadAbandoned => (
            "The upload was not completed within 24 hours.",
            "Upload it again, and leave the page open until it is ready.",
        ),
    };
    Said { why, remedy }
}
