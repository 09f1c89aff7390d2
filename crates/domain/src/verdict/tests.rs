//! Verdicts: what is told of several flaws, and how often it is tried again.

use chrono::DateTime;
use proptest::prelude::*;

use super::*;
use crate::upload::PART_BYTES;

const SOUND: Findings = Findings {
    has_its_size: Some(true),
    has_its_checksum: Some(true),
    has_its_type: Some(true),
    structure: Some(Ok(Structure::Text)),
    scan: Some(Scan::Clean),
};

fn moment(seconds: i64) -> Timestamp {
    DateTime::from_timestamp(1_767_225_600 + seconds, 0).unwrap()
}

#[test]
fn only_what_was_looked_at_in_every_way_is_sound() {
    assert_eq!(SOUND.sound(), Some(Structure::Text));
    assert_eq!(SOUND.flaw(), None);
    let unknown = [
        Findings {
            has_its_size: None,
            ..SOUND
        },
        Findings {
            has_its_checksum: None,
            ..SOUND
        },
        Findings {
            has_its_type: None,
            ..SOUND
        },
        Findings {
            structure: None,
            ..SOUND
        },
        Findings {
            scan: None,
            ..SOUND
        },
        Findings::default(),
    ];
    for findings in unknown {
        assert_eq!(
            (findings.sound(), findings.flaw()),
            (None, None),
            "{findings:?}"
        );
    }
}

#[test]
fn of_several_flaws_the_first_is_told() {
    let mut findings = Findings {
        has_its_size: Some(false),
        has_its_checksum: Some(false),
        has_its_type: Some(false),
        structure: Some(Err(Flaw::EncryptedDocument)),
        scan: Some(Scan::Infected),
    };
    assert_eq!(findings.flaw(), Some(Flaw::SizeMismatch));
    findings.has_its_size = Some(true);
    assert_eq!(findings.flaw(), Some(Flaw::ChecksumMismatch));
    findings.has_its_checksum = Some(true);
    assert_eq!(findings.flaw(), Some(Flaw::MagicByteMismatch));
    findings.has_its_type = Some(true);
    assert_eq!(findings.flaw(), Some(Flaw::EncryptedDocument));
    findings.structure = Some(Ok(Structure::Pages(3)));
    assert_eq!(findings.flaw(), Some(Flaw::MalwareDetected));
    findings.scan = Some(Scan::LimitExceeded);
    assert_eq!(findings.flaw(), Some(Flaw::ScanLimitExceeded));
    findings.scan = Some(Scan::Clean);
    assert_eq!(findings.sound(), Some(Structure::Pages(3)));
}

#[test]
fn the_parts_must_be_all_there_and_no_others() {
    let size = 2 * PART_BYTES + 5;
    let (whole, rest) = (PART_BYTES, 5);
    assert_eq!(parts(size, &[(1, whole), (2, whole), (3, rest)]), Ok(()));
    assert_eq!(parts(size, &[(3, rest), (1, whole), (2, whole)]), Ok(()));
    let missing = Err(Flaw::UploadMissing);
    assert_eq!(parts(size, &[]), missing);
    assert_eq!(parts(size, &[(1, whole), (3, rest)]), missing);
    assert_eq!(parts(size, &[(1, whole), (1, whole), (2, whole)]), missing);
    let other = Err(Flaw::SizeMismatch);
    assert_eq!(parts(size, &[(1, whole), (2, whole), (3, rest + 1)]), other);
    assert_eq!(parts(size, &[(1, whole), (2, whole - 1), (3, rest)]), other);
    assert_eq!(
        parts(size, &[(1, whole), (2, whole), (3, rest), (4, 1)]),
        other
    );
    assert_eq!(parts(1, &[(1, 1)]), other);
}

#[test]
fn the_scanner_may_be_unclear_twice() {
    let unclear = |tries| after(Hindrance::Unclear, tries, moment(0), moment(8));
    let again = Next::Again {
        at: moment(10),
        counted: true,
    };
    assert_eq!(unclear(0), again);
    assert_eq!(unclear(1), again);
    assert_eq!(unclear(2), Next::Fail(Flaw::ScanTimeout));
    assert_eq!(unclear(u32::MAX), Next::Fail(Flaw::ScanTimeout));
}

#[test]
fn what_is_away_is_waited_for_a_day() {
    let away = |seconds| after(Hindrance::Away, 0, moment(0), moment(seconds));
    let again = |at| Next::Again {
        at: moment(at),
        counted: false,
    };
    assert_eq!(away(0), again(1));
    assert_eq!(away(40), again(50));
    assert_eq!(away(3_600), again(3_630));
    assert_eq!(away(86_399), again(86_429));
    assert_eq!(away(86_400), Next::Fail(Flaw::ScanTimeout));
}

#[test]
fn a_file_that_killed_five_workers_is_poisonous() {
    assert!(!is_poisonous(0) && !is_poisonous(4));
    assert!(is_poisonous(5) && is_poisonous(u32::MAX));
}

proptest! {
    #[test]
    fn a_file_is_looked_at_again_within_half_a_minute(waited in -10_i64..86_400, tries in 0..2_u32) {
        for hindrance in [Hindrance::Away, Hindrance::Unclear] {
            let Next::Again { at, .. } = after(hindrance, tries, moment(0), moment(waited)) else {
                panic!("failed");
            };
            prop_assert!((moment(waited + 1)..=moment(waited + 30)).contains(&at));
        }
    }
}
