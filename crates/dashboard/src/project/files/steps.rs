//! The steps of a file from upload to ready.

use domain::file::{FileFailureReason, FileStatus, FileStructure, ScanStatus};
use store::shard::file::FileRow;
use store::view::files::FileProgress;

use super::explanations;
use crate::text;

/// The status of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepStatus {
    Done,
    InProgress,
    Failed,
    NotStarted,
}

impl StepStatus {
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::InProgress => "in-progress",
            Self::Failed => "failed",
            Self::NotStarted => "not-started",
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::InProgress => "in progress",
            Self::Failed => "failed",
            Self::NotStarted => "not started",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct FileStep {
    pub(super) name: &'static str,
    pub(super) status: StepStatus,
    pub(super) detail: String,
}

const STEP_NAMES: [&str; 6] = [
    "Uploaded",
    "Checksum verified",
    "Type verified",
    "Parsed",
    "Scanned",
    "Ready",
];

/// The step at which a file with this flaw failed.
const fn failed_step(flaw: FileFailureReason) -> usize {
    match flaw {
        FileFailureReason::UploadMissing
        | FileFailureReason::UploadAborted
        | FileFailureReason::UploadAbandoned => 0,
        FileFailureReason::SizeMismatch | FileFailureReason::ChecksumMismatch => 1,
        FileFailureReason::MagicByteMismatch => 2,
        FileFailureReason::MalformedDocument
        | FileFailureReason::MalformedImage
        | FileFailureReason::MalformedVideo
        | FileFailureReason::TooManyPages
        | FileFailureReason::VideoTooLong
        | FileFailureReason::EncryptedDocument => 3,
        FileFailureReason::MalwareDetected
        | FileFailureReason::ScanTimeout
        | FileFailureReason::ScanLimitExceeded => 4,
    }
}

pub(super) fn file_steps(file: &FileRow, progress: &FileProgress) -> Vec<FileStep> {
    let (reached, reached_status) = match (file.status, file.failure_reason) {
        (FileStatus::Failed | FileStatus::Expired, Some(flaw)) => {
            (failed_step(flaw), StepStatus::Failed)
        }
        (FileStatus::Uploading, _) => (0, StepStatus::InProgress),
        (FileStatus::Validating, _) => (1, StepStatus::InProgress),
        (FileStatus::Ready | FileStatus::Expired | FileStatus::Failed, _) => {
            (STEP_NAMES.len(), StepStatus::Done)
        }
    };
    let steps = STEP_NAMES.into_iter().enumerate();
    let steps = steps.map(|(index, name)| {
        // One pass over the bytes makes these checks at the same time.
        let is_concurrent = file.status == FileStatus::Validating && (1..5).contains(&index);
        let status = if index < reached {
            StepStatus::Done
        } else if index == reached || is_concurrent {
            reached_status
        } else {
            StepStatus::NotStarted
        };
        let detail = detail(index, status, file, progress);
        FileStep {
            name,
            status,
            detail,
        }
    });
    steps.collect()
}

fn detail(index: usize, status: StepStatus, file: &FileRow, progress: &FileProgress) -> String {
    let is_deduplicated = file.object.is_some_and(|object| object != file.id);
    match (status, index) {
        (StepStatus::Failed, _) => file
            .failure_reason
            .map(|flaw| explanations::explain(flaw).reason.to_owned())
            .unwrap_or_default(),
        (StepStatus::InProgress, 0) => {
            "Waiting for the upload to complete. Uploads that are not completed within 24 hours \
             fail."
                .to_owned()
        }
        (StepStatus::InProgress, 1) if progress.is_claimed => {
            "In progress. All checks run in one pass over the file.".to_owned()
        }
        (StepStatus::InProgress, 1) => "Queued.".to_owned(),
        (StepStatus::InProgress, 4) if progress.tries > 0 => format!(
            "No verdict from the malware scanner after {} attempts. Retrying.",
            progress.tries
        ),
        (StepStatus::InProgress | StepStatus::NotStarted, _) => String::new(),
        (StepStatus::Done, 0) if is_deduplicated => {
            "Nothing was uploaded: the project already has a file with this content.".to_owned()
        }
        (StepStatus::Done, 0) => text::bytes(file.size_bytes),
        (StepStatus::Done, 1) => "Size and SHA-256 match the declared values.".to_owned(),
        (StepStatus::Done, 2) => format!("The content is {}.", file.media_type.as_str()),
        (StepStatus::Done, 3) => progress
            .structure
            .as_ref()
            .map(describe_structure)
            .unwrap_or_default(),
        (StepStatus::Done, 4) if file.scan_status == ScanStatus::Clean => {
            "No malware found.".to_owned()
        }
        (StepStatus::Done, 4) => format!("Scan status: {}.", file.scan_status.as_str()),
        (StepStatus::Done, _) if file.status == FileStatus::Expired => {
            "The file has expired or was deleted. Its content is gone.".to_owned()
        }
        (StepStatus::Done, _) => "Cargo can reference this file.".to_owned(),
    }
}

/// The parsed structure, for people.
pub(super) fn describe_structure(structure: &FileStructure) -> String {
    match *structure {
        FileStructure::Image { width, height } => format!("{width} × {height} pixels"),
        FileStructure::Pages(1) => "1 page".to_owned(),
        FileStructure::Pages(pages) => format!("{pages} pages"),
        FileStructure::Text => "UTF-8 text".to_owned(),
        FileStructure::Video { milliseconds } => {
            let long = i64::try_from(milliseconds).unwrap_or(i64::MAX);
            format!(
                "{} of video",
                text::duration(chrono::TimeDelta::milliseconds(long))
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flaw_stops_a_file_before_it_is_ready() {
        for flaw in FileFailureReason::ALL {
            assert!(failed_step(*flaw) < STEP_NAMES.len() - 1, "{flaw:?}");
            assert!(!explanations::explain(*flaw).remedy.is_empty());
        }
    }
}
