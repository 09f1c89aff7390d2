//! Validation of a file: the checks, the verdict, and the retries when a check could not run.

use chrono::TimeDelta;

use crate::batch::MAX_TAKEOVERS;
use crate::file::{FileFailureReason, FileStructure};
use crate::time::Timestamp;
use crate::upload::{UploadMethod, part_bytes};

#[cfg(test)]
mod tests;

/// After so many scans that timed out or were inconclusive, a file fails.
pub const MAX_SCAN_ATTEMPTS: u32 = 3;
/// How long a file may be validating. An obstacle that lasts a day will not go away.
pub const VALIDATION_TIMEOUT: TimeDelta = TimeDelta::hours(24);
/// Files from this size on wait for one of the few slots for large files.
pub const LARGE_FILE_BYTES: u64 = 50 << 20;

const MIN_RETRY_DELAY: TimeDelta = TimeDelta::seconds(1);
const MAX_RETRY_DELAY: TimeDelta = TimeDelta::seconds(30);
/// The retry delay is a quarter of the time that the file has waited already.
const RETRY_DELAY_DIVISOR: i32 = 4;

/// The results of the checks; None for a check that has not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileFindings {
    pub size_matches: Option<bool>,
    pub checksum_matches: Option<bool>,
    pub media_type_matches: Option<bool>,
    pub structure: Option<Result<FileStructure, FileFailureReason>>,
    pub scan: Option<MalwareScanVerdict>,
}

/// The verdict of the malware scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MalwareScanVerdict {
    Clean,
    Infected,
    /// The file exceeds a limit of the scanner, so a part of it was not scanned.
    LimitExceeded,
}

impl FileFindings {
    /// The one reason that the caller is told. An earlier failure explains the later ones.
    pub fn failure_reason(&self) -> Option<FileFailureReason> {
        if self.size_matches == Some(false) {
            return Some(FileFailureReason::SizeMismatch);
        }
        if self.checksum_matches == Some(false) {
            return Some(FileFailureReason::ChecksumMismatch);
        }
        if self.media_type_matches == Some(false) {
            return Some(FileFailureReason::MagicByteMismatch);
        }
        if let Some(Err(flaw)) = self.structure {
            return Some(flaw);
        }
        match self.scan? {
            MalwareScanVerdict::Clean => None,
            MalwareScanVerdict::Infected => Some(FileFailureReason::MalwareDetected),
            MalwareScanVerdict::LimitExceeded => Some(FileFailureReason::ScanLimitExceeded),
        }
    }

    /// The structure of the file, if all checks ran and passed.
    pub fn verified_structure(&self) -> Option<FileStructure> {
        let right = self.size_matches? && self.checksum_matches? && self.media_type_matches?;
        let structure = self.structure?.ok()?;
        (right && self.scan? == MalwareScanVerdict::Clean).then_some(structure)
    }
}

/// Checks that the stored parts make up the file. `stored` has their numbers and sizes.
pub fn check_parts(size_bytes: u64, stored: &[(u32, u64)]) -> Result<(), FileFailureReason> {
    let UploadMethod::Multipart { parts } = UploadMethod::of(size_bytes) else {
        return Err(FileFailureReason::SizeMismatch);
    };
    for number in 1..=parts {
        let Some((_, size)) = stored.iter().find(|(stored, _)| *stored == number) else {
            return Err(FileFailureReason::UploadMissing);
        };
        if Some(*size) != part_bytes(size_bytes, number) {
            return Err(FileFailureReason::SizeMismatch);
        }
    }
    if stored
        .iter()
        .any(|(number, _)| !(1..=parts).contains(number))
    {
        return Err(FileFailureReason::SizeMismatch);
    }
    Ok(())
}

/// Why a file could not be validated this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanFailure {
    /// The store, the scanner or the probe is unavailable. The file is not the cause.
    Unavailable,
    /// The scanner timed out on this file or gave no clear answer.
    Inconclusive,
}

/// What follows a scan that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanRetryDecision {
    Retry { at: Timestamp, counted: bool },
    Fail(FileFailureReason),
}

/// `tries` is the number of inconclusive scans before.
pub fn decide_scan_retry(
    hindrance: ScanFailure,
    tries: u32,
    completed_at: Timestamp,
    now: Timestamp,
) -> ScanRetryDecision {
    let counted = hindrance == ScanFailure::Inconclusive;
    let waited = now - completed_at;
    if waited >= VALIDATION_TIMEOUT || (counted && tries.saturating_add(1) >= MAX_SCAN_ATTEMPTS) {
        return ScanRetryDecision::Fail(FileFailureReason::ScanTimeout);
    }
    let wait = (waited / RETRY_DELAY_DIVISOR).clamp(MIN_RETRY_DELAY, MAX_RETRY_DELAY);
    ScanRetryDecision::Retry {
        at: now + wait,
        counted,
    }
}

/// Whether so many workers crashed on this file that it is taken for the cause.
pub fn is_poison_pill(takeovers: u32) -> bool {
    i32::try_from(takeovers).unwrap_or(i32::MAX) >= MAX_TAKEOVERS
}
