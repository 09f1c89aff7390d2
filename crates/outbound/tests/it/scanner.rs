//! The real clamd: what it finds, what it passes, what it cannot look at.

use std::time::Duration;

use bytes::Bytes;
use outbound::scanner::{ScanFailure, Scanner, Verdict};

use crate::support::clamd::{Clamd, GOOD, eicar, scanner};

const SHORT: Duration = Duration::from_millis(300);

async fn scan(scanner: &Scanner, chunks: &[&[u8]]) -> Result<Verdict, ScanFailure> {
    let mut scanning = scanner.begin().await?;
    for chunk in chunks {
        scanning.feed(Bytes::copy_from_slice(chunk)).await?;
    }
    scanning.verdict().await
}

fn is_infected(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Infected(name) if name.contains("Eicar") || name.contains("EICAR"))
}

/// An archive of one member that is not squeezed.
fn zip(inside: &[u8]) -> Vec<u8> {
    let (length, crc) = (u32::try_from(inside.len()).unwrap(), crc32(inside));
    let common = [
        [20, 0, 0, 0, 0, 0, 0, 0, 0, 0].as_slice(),
        &crc.to_le_bytes(),
        &length.to_le_bytes(),
        &length.to_le_bytes(),
        &[1, 0, 0, 0],
    ]
    .concat();
    let member = [b"PK\x03\x04", common.as_slice(), b"a", inside].concat();
    let entry = [b"PK\x01\x02\x14\0", common.as_slice(), &[0; 14], b"a"].concat();
    let sizes = [entry.len(), member.len()].map(|size| u32::try_from(size).unwrap().to_le_bytes());
    let end = [
        b"PK\x05\x06\0\0\0\0\x01\0\x01\0".as_slice(),
        &sizes[0],
        &sizes[1],
        &[0; 2],
    ];
    [member, entry, end.concat()].concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[tokio::test]
async fn what_is_harmless_is_clean_and_the_test_file_is_not() {
    let scanner = scanner();
    scanner.ping().await.unwrap();
    assert_eq!(scan(&scanner, &[]).await, Ok(Verdict::Clean));
    assert_eq!(scan(&scanner, &[b"oranges"]).await, Ok(Verdict::Clean));
    assert!(is_infected(&scan(&scanner, &[&eicar()]).await.unwrap()));
    // In pieces, some of them empty: an empty chunk does not end the stream.
    let (first, second) = (&eicar()[..30], &eicar()[30..]);
    let pieces = [first, b"", second];
    assert!(is_infected(&scan(&scanner, &pieces).await.unwrap()));
}

#[tokio::test]
async fn the_test_file_is_found_inside_an_archive() {
    let packed = zip(&eicar());
    assert!(!packed.is_empty());
    assert!(is_infected(&scan(&scanner(), &[&packed]).await.unwrap()));
    assert_eq!(
        scan(&scanner(), &[&zip(b"oranges")]).await,
        Ok(Verdict::Clean)
    );
}

#[tokio::test]
async fn many_are_scanned_at_once() {
    let scanner = scanner();
    let scans = (0..20).map(async |number: usize| {
        let bytes = vec![u8::try_from(number).unwrap(); 3 << 20];
        let chunks = [bytes.as_slice(), &eicar()];
        let chunks = if number.is_multiple_of(2) {
            &chunks[..1]
        } else {
            &chunks
        };
        scan(&scanner, chunks).await.unwrap()
    });
    let verdicts = futures::future::join_all(scans).await;
    for (number, verdict) in verdicts.iter().enumerate() {
        assert_eq!(
            is_infected(verdict),
            !number.is_multiple_of(2),
            "{verdict:?}"
        );
    }
}

#[tokio::test]
async fn a_stream_beyond_the_limit_is_answered_before_its_end() {
    let settings = ["StreamMaxLength 1M", "AlertExceedsMax yes"];
    let clamd = Clamd::with(&settings);
    let mut scanning = clamd.ample().begin().await.unwrap();
    // Far more than a socket holds, and nobody reads it.
    for _ in 0..64 {
        scanning.feed(vec![0; 1 << 20].into()).await.unwrap();
    }
    assert!(scanning.is_answered());
    assert_eq!(scanning.verdict().await, Ok(Verdict::LimitExceeded));
}

#[tokio::test]
async fn what_is_too_large_to_be_looked_at_is_never_clean() {
    let settings = ["MaxFileSize 1M", "MaxScanSize 1M", "AlertExceedsMax yes"];
    let clamd = Clamd::with(&settings);
    let large = vec![b'x'; 2 << 20];
    let verdict = scan(&clamd.ample(), &[&large]).await;
    assert_eq!(verdict, Ok(Verdict::LimitExceeded));
}

#[tokio::test]
async fn the_scanner_of_the_tests_passes_its_probe() {
    scanner().probe().await.unwrap();
    scanner().probe().await.unwrap();
    Clamd::with(&GOOD).ample().probe().await.unwrap();
}

#[tokio::test]
async fn a_scanner_that_is_not_set_up_for_us_is_told_as_such() {
    let unknown = "Local.Other:0:*:6c6f6e6773686f7265\n";
    let short: Vec<&str> = [&GOOD[1..], &["StreamMaxLength 100M"]].concat();
    let packed: Vec<&str> = [&GOOD[..], &["ScanArchive no"]].concat();
    let mut told = String::new();
    for clamd in [
        Clamd::knowing(unknown, &GOOD),
        Clamd::with(&packed),
        Clamd::with(&GOOD[..3]),
        Clamd::with(&short),
    ] {
        let failure = clamd.ample().probe().await.unwrap_err();
        assert!(!failure.away);
        told = format!("{told}{failure}\n");
    }
    insta::assert_snapshot!(told, @r"
    the scanner must find the test file that every scanner knows: it was called clean
    the scanner must look into archives: it was called clean
    the scanner must report what exceeds its limits (AlertExceedsMax yes): it was called clean
    the scanner must take files of 1 GB (StreamMaxLength): INSTREAM size limit exceeded. ERROR
    ");
}

#[tokio::test]
async fn a_scanner_that_freezes_gives_no_verdict() {
    let clamd = Clamd::with(&GOOD);
    let scanner = clamd.scanner(SHORT);
    let mut scanning = scanner.begin().await.unwrap();
    scanning.feed(Bytes::from_static(b"oranges")).await.unwrap();
    clamd.freeze();
    let late = ScanFailure::Timeout(SHORT);
    assert_eq!(scanning.verdict().await, Err(late.clone()));
    assert_eq!(scanner.ping().await, Err(late.clone()));
    let failure = scanner.probe().await.unwrap_err();
    assert!(failure.away, "{failure}");
    // What is fed is not swallowed without end.
    let mut scanning = scanner.begin().await.unwrap();
    let fed = async {
        loop {
            if let Err(failure) = scanning.feed(vec![0; 1 << 20].into()).await {
                break failure;
            }
        }
    };
    assert_eq!(fed.await, late);
}
