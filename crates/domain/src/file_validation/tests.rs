//! Which of several failure reasons is reported, and how often validation is retried.

use chrono::DateTime;
use proptest::prelude::*;

use super::*;
use crate::upload::PART_BYTES;

const VALID: FileFindings = FileFindings {
    size_matches: Some(true),
    checksum_matches: Some(true),
    media_type_matches: Some(true),
    structure: Some(Ok(FileStructure::Text)),
    scan: Some(MalwareScanVerdict::Clean),
};

fn moment(seconds: i64) -> Timestamp {
    DateTime::from_timestamp(1_767_225_600 + seconds, 0).unwrap()
}

#[test]
fn only_a_file_that_passed_every_check_is_valid() {
    assert_eq!(VALID.verified_structure(), Some(FileStructure::Text));
    assert_eq!(VALID.failure_reason(), None);
    let unknown = [
        FileFindings {
            size_matches: None,
            ..VALID
        },
        FileFindings {
            checksum_matches: None,
            ..VALID
        },
        FileFindings {
            media_type_matches: None,
            ..VALID
        },
        FileFindings {
            structure: None,
            ..VALID
        },
        FileFindings {
            scan: None,
            ..VALID
        },
        FileFindings::default(),
    ];
    for findings in unknown {
        assert_eq!(
            (findings.verified_structure(), findings.failure_reason()),
            (None, None),
            "{findings:?}"
        );
    }
}

#[test]
fn of_several_failure_reasons_the_first_is_reported() {
    let mut findings = FileFindings {
        size_matches: Some(false),
        checksum_matches: Some(false),
        media_type_matches: Some(false),
        structure: Some(Err(FileFailureReason::EncryptedDocument)),
        scan: Some(MalwareScanVerdict::Infected),
    };
    assert_eq!(
        findings.failure_reason(),
        Some(FileFailureReason::SizeMismatch)
    );
    findings.size_matches = Some(true);
    assert_eq!(
        findings.failure_reason(),
        Some(FileFailureReason::ChecksumMismatch)
    );
    findings.checksum_matches = Some(true);
    assert_eq!(
        findings.failure_reason(),
        Some(FileFailureReason::MagicByteMismatch)
    );
    findings.media_type_matches = Some(true);
    assert_eq!(
        findings.failure_reason(),
        Some(FileFailureReason::EncryptedDocument)
    );
    findings.structure = Some(Ok(FileStructure::Pages(3)));
    assert_eq!(
        findings.failure_reason(),
        Some(FileFailureReason::MalwareDetected)
    );
    findings.scan = Some(MalwareScanVerdict::LimitExceeded);
    assert_eq!(
        findings.failure_reason(),
        Some(FileFailureReason::ScanLimitExceeded)
    );
    findings.scan = Some(MalwareScanVerdict::Clean);
    assert_eq!(findings.verified_structure(), Some(FileStructure::Pages(3)));
}

#[test]
fn the_parts_must_be_all_there_and_no_others() {
    let size = 2 * PART_BYTES + 5;
    let (whole, rest) = (PART_BYTES, 5);
    assert_eq!(
        check_parts(size, &[(1, whole), (2, whole), (3, rest)]),
        Ok(())
    );
    assert_eq!(
        check_parts(size, &[(3, rest), (1, whole), (2, whole)]),
        Ok(())
    );
    let missing = Err(FileFailureReason::UploadMissing);
    assert_eq!(check_parts(size, &[]), missing);
    assert_eq!(check_parts(size, &[(1, whole), (3, rest)]), missing);
    assert_eq!(
        check_parts(size, &[(1, whole), (1, whole), (2, whole)]),
        missing
    );
    let other = Err(FileFailureReason::SizeMismatch);
    assert_eq!(
        check_parts(size, &[(1, whole), (2, whole), (3, rest + 1)]),
        other
    );
    assert_eq!(
        check_parts(size, &[(1, whole), (2, whole - 1), (3, rest)]),
        other
    );
    assert_eq!(
        check_parts(size, &[(1, whole), (2, whole), (3, rest), (4, 1)]),
        other
    );
    assert_eq!(check_parts(1, &[(1, 1)]), other);
}

#[test]
fn the_scanner_may_be_inconclusive_twice() {
    let unclear = |tries| decide_scan_retry(ScanFailure::Inconclusive, tries, moment(0), moment(8));
    let again = ScanRetryDecision::Retry {
        at: moment(10),
        counted: true,
    };
    assert_eq!(unclear(0), again);
    assert_eq!(unclear(1), again);
    assert_eq!(
        unclear(2),
        ScanRetryDecision::Fail(FileFailureReason::ScanTimeout)
    );
    assert_eq!(
        unclear(u32::MAX),
        ScanRetryDecision::Fail(FileFailureReason::ScanTimeout)
    );
}

#[test]
fn an_unavailable_dependency_is_retried_for_a_day() {
    let away = |seconds| decide_scan_retry(ScanFailure::Unavailable, 0, moment(0), moment(seconds));
    let again = |at| ScanRetryDecision::Retry {
        at: moment(at),
        counted: false,
    };
    assert_eq!(away(0), again(1));
    assert_eq!(away(40), again(50));
    assert_eq!(away(3_600), again(3_630));
    assert_eq!(away(86_399), again(86_429));
    assert_eq!(
        away(86_400),
        ScanRetryDecision::Fail(FileFailureReason::ScanTimeout)
    );
}

#[test]
fn a_file_that_crashed_five_workers_is_a_poison_pill() {
    assert!(!is_poison_pill(0) && !is_poison_pill(4));
    assert!(is_poison_pill(5) && is_poison_pill(u32::MAX));
}

proptest! {
    #[test]
    fn a_file_is_retried_within_half_a_minute(waited in -10_i64..86_400, tries in 0..2_u32) {
        for hindrance in [ScanFailure::Unavailable, ScanFailure::Inconclusive] {
            let ScanRetryDecision::Retry { at, .. } = decide_scan_retry(hindrance, tries, moment(0), moment(waited)) else {
                panic!("failed");
            };
            prop_assert!((moment(waited + 1)..=moment(waited + 30)).contains(&at));
        }
    }
}
