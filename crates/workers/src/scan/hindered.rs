//! What kept a file from being judged this time.

use domain::verdict::Hindrance;
use outbound::objects::Failure;
use outbound::probe::ProbeFailure;
use outbound::scanner::{ScanFailure, Scanner};

/// `why` is for the log, and never says what is in the file.
#[derive(Debug)]
pub(super) struct Hindered {
    pub(super) hindrance: Hindrance,
    pub(super) why: String,
}

impl Hindered {
    pub(super) fn away(why: &impl ToString) -> Self {
        let hindrance = Hindrance::Away;
        let why = why.to_string();
        Self { hindrance, why }
    }

    /// Was it the scanner that was away, or this file that it is unclear about?
    pub(super) async fn by_scanner(failure: ScanFailure, scanner: &Scanner) -> Self {
        let hindrance = match failure {
            ScanFailure::Away(_) => Hindrance::Away,
            ScanFailure::Timeout(_) | ScanFailure::Unclear(_) => match scanner.ping().await {
                Ok(()) => Hindrance::Unclear,
                Err(_) => Hindrance::Away,
            },
        };
        let why = failure.to_string();
        Self { hindrance, why }
    }
}

impl From<Failure> for Hindered {
    /// One that is missing or changed is looked at anew: then it is seen what it is.
    fn from(failure: Failure) -> Self {
        Self::away(&failure)
    }
}

impl From<ProbeFailure> for Hindered {
    fn from(failure: ProbeFailure) -> Self {
        Self::away(&failure)
    }
}
