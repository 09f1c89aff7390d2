//! Why a file could not be verified this time.

use domain::file_validation::ScanFailure;
use outbound::malware_scanner::{MalwareScanFailure, MalwareScanner};
use outbound::object_store::ObjectStoreFailure;
use outbound::probe::ProbeFailure;

/// `why` is for the log, and never contains bytes of the file.
#[derive(Debug)]
pub(super) struct VerificationFailure {
    pub(super) kind: ScanFailure,
    pub(super) why: String,
}

impl VerificationFailure {
    pub(super) fn unavailable(why: &impl ToString) -> Self {
        let kind = ScanFailure::Unavailable;
        let why = why.to_string();
        Self { kind, why }
    }

    /// Finds out whether the scanner is unavailable or only inconclusive about this file.
    pub(super) async fn from_scanner(
        failure: MalwareScanFailure,
        scanner: &MalwareScanner,
    ) -> Self {
        let kind = match failure {
            MalwareScanFailure::Unreachable(_) => ScanFailure::Unavailable,
            MalwareScanFailure::Timeout(_) | MalwareScanFailure::Unclear(_) => {
                match scanner.ping().await {
                    Ok(()) => ScanFailure::Inconclusive,
                    Err(_) => ScanFailure::Unavailable,
                }
            }
        };
        let why = failure.to_string();
        Self { kind, why }
    }
}

impl From<ObjectStoreFailure> for VerificationFailure {
    /// A missing or changed object counts as unavailable: the next try shows what it is.
    fn from(failure: ObjectStoreFailure) -> Self {
        Self::unavailable(&failure)
    }
}

impl From<ProbeFailure> for VerificationFailure {
    fn from(failure: ProbeFailure) -> Self {
        Self::unavailable(&failure)
    }
}
