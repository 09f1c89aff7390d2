//! Valid and invalid licences, and the limits in force with them.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use domain::plan_limits::RateLimit;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use test_support::clock::ManualClock;

use super::watcher::LicenceWatcher;
use super::*;
use crate::settings::read_variables as read_settings;

fn pair() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap()
}

fn key() -> LicencePublicKey {
    LicencePublicKey(pair().public_key().as_ref().try_into().unwrap())
}

const ENTITLEMENTS: &str = r#"{"licensee":"Example Ltd","issued_at":"2026-01-01T00:00:00Z","expires_at":"2027-01-01T01:00:00+01:00","burst":20000,"sustained_requests_per_minute":120000,"monthly_tokens":null}"#;

fn signed(entitlements: &str) -> String {
    let signature = pair().sign(entitlements.as_bytes());
    let (entitlements, signature) = (
        STANDARD.encode(entitlements),
        STANDARD.encode(signature.as_ref()),
    );
    format!(r#"{{"entitlements":"{entitlements}","signature":"{signature}"}}"#)
}

fn moment(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn example() -> Licence {
    Licence {
        licensee: "Example Ltd".to_owned(),
        issued_at: moment("2026-01-01T00:00:00Z"),
        expires_at: moment("2027-01-01T00:00:00Z"),
        limits: PlanLimits {
            rate: RateLimit {
                burst: 20_000,
                per_minute: 120_000,
            },
            monthly_tokens: None,
            storage: StorageQuota::default(),
        },
    }
}

fn refused(text: &str) -> String {
    let failure = document::verify(text, Some(key())).unwrap_err();
    failure.to_string()
}

#[test]
fn a_signed_licence_is_read() {
    let read = document::verify(&signed(ENTITLEMENTS), Some(key())).unwrap();
    assert_eq!(read, example());
    let more = ENTITLEMENTS.replace("null", "5").replace(
        '{',
        r#"{"ships":{"most":7},"storage_bytes":6,"storage_files":7,"#,
    );
    let read = document::verify(&signed(&more), Some(key())).unwrap();
    assert_eq!(read.limits.monthly_tokens, Some(5));
    let storage = StorageQuota {
        files: Some(7),
        bytes: Some(6),
    };
    assert_eq!(read.limits.storage, storage);
}

#[test]
fn it_ends_at_its_moment() {
    let last = moment("2026-12-31T23:59:59.999999Z");
    assert_eq!(example().valid_at(last), Ok(example()));
    let failure = example().valid_at(example().expires_at).unwrap_err();
    insta::assert_snapshot!(failure, @"the licence expired at 2027-01-01T00:00:00.000000Z");
}

#[test]
fn every_refusal_says_why() {
    insta::assert_snapshot!(refused("licence"), @"the licence is not a JSON object with `entitlements` and `signature`: expected value at line 1 column 1");
    insta::assert_snapshot!(refused(r#"{"entitlements":"e30="}"#), @"the licence is not a JSON object with `entitlements` and `signature`: missing field `signature` at line 1 column 23");
    insta::assert_snapshot!(refused(r#"{"entitlements":"e30=","signature":"?"}"#), @"the signature of the licence is not base64");
    insta::assert_snapshot!(refused(&signed("{}")), @"the licence is signed, but its entitlements are invalid: missing field `licensee` at line 1 column 2");
    insta::assert_snapshot!(refused(&signed(&ENTITLEMENTS.replace("20000", "0"))), @"the licence is signed, but its entitlements are invalid: burst 0 is not from 1 to 100000000");
    insta::assert_snapshot!(refused(&signed(&ENTITLEMENTS.replace("null", "1000000000000001"))), @"the licence is signed, but its entitlements are invalid: monthly_tokens 1000000000000001 is not from 0 to 1000000000000000");
    insta::assert_snapshot!(document::verify(&signed(ENTITLEMENTS), None).unwrap_err(), @"the licence cannot be verified: SVC_LICENCE_PUBLIC_KEY is not set");
    let missing = read(Path::new("/nowhere/licence.json"), Some(key())).unwrap_err();
    insta::assert_snapshot!(missing, @"the licence file /nowhere/licence.json cannot be read: No such file or directory (os error 2)");
}

#[test]
fn what_was_changed_or_signed_by_another_is_refused() {
    insta::assert_snapshot!(refused(r#"{"entitlements":"e30=","signature":"e30="}"#), @"the signature of the licence is invalid: the licence was changed, or SVC_LICENCE_PUBLIC_KEY is not the key that signed it");
    let (mine, other) = (
        signed(ENTITLEMENTS),
        signed(&ENTITLEMENTS.replace("20000", "20001")),
    );
    let (entitlements, _) = mine.split_once(r#","signature""#).unwrap();
    let (_, signature) = other.split_once(r#","signature""#).unwrap();
    let mixed = format!(r#"{entitlements},"signature"{signature}"#);
    let failures = [
        document::verify(&mixed, Some(key())),
        document::verify(&mine, Some(LicencePublicKey([7; 32]))),
    ];
    assert_eq!(
        failures,
        [const { Err(LicenceFailure::InvalidSignature) }; 2]
    );
}

fn values(more: &[(&str, &str)]) -> SettingValues {
    let given = [("SVC_DATABASE_URL", "postgres://localhost/longshore")];
    let given = given.iter().chain(more);
    let given = given.map(|(name, value)| (name.into(), value.into()));
    read_settings(given).settings().unwrap().values
}

#[test]
fn a_licence_takes_effect_on_reload_and_expires() {
    let folder = std::env::temp_dir().join(format!("longshore-licence-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("licence.json");
    let public = STANDARD.encode(key().0);
    let given = [
        ("SVC_LICENCE_FILE", path.to_str().unwrap()),
        ("SVC_LICENCE_PUBLIC_KEY", &public),
        ("SVC_MONTHLY_TOKENS_FREE", "7"),
        ("SVC_MONTHLY_TOKENS_PRO", "unlimited"),
    ];
    let start = moment("2026-06-01T00:00:00Z");
    let clock = Arc::new(ManualClock::starting_at(start));
    let watcher = LicenceWatcher::open(&values(&given), clock.clone());
    let mut licences = watcher.watch();
    let plain = *licences.borrow_and_update();
    let defaults = LimitsByPlan::default();
    assert_eq!(plain.enterprise, defaults.enterprise);
    assert_eq!(plain.free.monthly_tokens, Some(7));
    assert_eq!(plain.starter, defaults.starter);
    assert_eq!(plain.pro.monthly_tokens, None);

    std::fs::write(&path, signed(ENTITLEMENTS)).unwrap();
    watcher.tick();
    assert!(!licences.has_changed().unwrap());
    watcher.reload();
    assert_eq!(licences.borrow_and_update().enterprise, example().limits);
    watcher.tick();
    assert!(!licences.has_changed().unwrap());

    clock.set(start + TimeDelta::days(365));
    watcher.tick();
    assert_eq!(*licences.borrow_and_update(), plain);

    // A clock that was wrong for a while has no lasting effect.
    clock.set(start);
    watcher.tick();
    assert_eq!(licences.borrow_and_update().enterprise, example().limits);

    std::fs::write(&path, "withdrawn").unwrap();
    watcher.reload();
    assert_eq!(*licences.borrow_and_update(), plain);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn on_cloud_no_licence_is_read() {
    let given = [
        ("SVC_DEPLOYMENT", "cloud"),
        ("SVC_LICENCE_FILE", "/nowhere/licence.json"),
    ];
    assert_eq!(
        LicenceSource::from_settings(&values(&given)).read(),
        Ok(None)
    );
    assert!(
        LicenceSource::from_settings(&values(&given[1..]))
            .read()
            .is_err()
    );
}
