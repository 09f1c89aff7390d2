//! Golden vectors: one of the Standard Webhooks libraries, the others computed outside this code.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use super::*;
use crate::callback_settings::CallbackSettingsChange::{EnableSigning, Rotate};
use crate::callback_settings::RotationOverlap;

/// The tests in `tools/webhooks` give the same vectors to the libraries of Standard Webhooks.
const VECTORS: &str = include_str!("../../../../tools/webhooks/vectors.json");
/// The bytes 0 to 31.
const ROOT: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// The byte 7, 32 times.
const OTHER_ROOT: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
const FIRST_TOKEN: &str = "v1,hBy8bQT7EesEuw9GQYMvN4DD0FWDfKwJAbMZnamwBTA=";
const SECOND_TOKEN: &str = "v1,UVGKKlzCt35zqiV2rTyfeBfmRu4Xe06f5Rl32zSnjug=";
const OTHER_ROOTS_FIRST_TOKEN: &str = "v1,4KONdQVobMSNNGWnC/7kmoYgXdtH4bsPT+xXz2WyI78=";
const OTHER_ROOTS_SECOND_TOKEN: &str = "v1,iX9m9d7u/yiljYHxA4StPQSuO/yuBqOgPLrvuhD8IVI=";

fn root(text: &str) -> SigningRoot {
    SigningRoot::parse(text).unwrap()
}

fn roots() -> SigningRoots {
    SigningRoots {
        current: root(ROOT),
        previous: None,
    }
}

fn project() -> ProjectId {
    "prj_019b76da807b774b805000000000002a".parse().unwrap()
}

fn cargo() -> CargoId {
    "crg_019b76da807b774b805000000000002a".parse().unwrap()
}

fn start() -> Timestamp {
    Timestamp::from_timestamp(1_763_240_000, 999_999_000).unwrap()
}

fn signed() -> CallbackSettings {
    let settings = CallbackSettings::default();
    settings.apply(EnableSigning, start()).unwrap()
}

fn rotated() -> CallbackSettings {
    let rotate = Rotate {
        overlap: RotationOverlap::OneDay,
        replaces_previous: false,
    };
    signed().apply(rotate, start()).unwrap()
}

fn signature(roots: &SigningRoots, settings: &CallbackSettings, now: Timestamp) -> String {
    let signer = CallbackSigner::new(roots, project(), settings).unwrap();
    signer.sign(cargo(), now, b"{}").signature
}

#[test]
fn tokens_are_those_of_the_published_vectors() {
    let vectors: Vec<BTreeMap<String, String>> = serde_json::from_str(VECTORS).unwrap();
    assert_eq!(vectors.len(), 2);
    for vector in vectors {
        let secret = vector["secret"].strip_prefix("whsec_").unwrap();
        let key = STANDARD.decode(secret).unwrap();
        let (id, timestamp) = (&vector["id"], &vector["timestamp"]);
        let token = signature_token(&key, id, timestamp, vector["body"].as_bytes());
        assert_eq!(token, vector["signature"], "{id}");
    }
}

#[test]
fn secrets_follow_from_root_project_and_number() {
    let secrets = [1, 2].map(|version| roots().secret(project(), version).reveal());
    insta::assert_debug_snapshot!(secrets, @r#"
    [
        "whsec_ux1ntzk4ethYIfyA1nG7eKcR0F97bJziYNYCJk23E60=",
        "whsec_YqE2C4B6URZ8LmtHBbDFN4XjLX2o59XAXDLbOF5XHXI=",
    ]
    "#);
    let other: ProjectId = "prj_019b76da807b774b805000000000002b".parse().unwrap();
    assert_ne!(roots().secret(other, 1).reveal(), secrets[0]);
}

#[test]
fn the_key_of_totp_secrets_follows_from_the_root() {
    let key = hex::encode(root(ROOT).totp_key());
    insta::assert_snapshot!(key, @"9c4f116c21afe22f9b054f9e2e42e884d7c34034d82f20abb97aaad33121cc91");
    assert_ne!(root(OTHER_ROOT).totp_key(), root(ROOT).totp_key());
}

#[test]
fn the_headers_name_the_cargo_and_the_second() {
    let signer = CallbackSigner::new(&roots(), project(), &signed()).unwrap();
    let headers = signer.sign(cargo(), start(), b"{}");
    assert_eq!(
        headers.pairs(),
        [
            ("webhook-id", "crg_019b76da807b774b805000000000002a"),
            ("webhook-timestamp", "1763240000"),
            ("webhook-signature", FIRST_TOKEN),
        ]
    );
}

#[test]
fn both_secrets_sign_during_a_rotation_the_newest_first() {
    let both = format!("{SECOND_TOKEN} {FIRST_TOKEN}");
    assert_eq!(signature(&roots(), &rotated(), start()), both);
    let after = start() + TimeDelta::hours(24);
    let one = signature(&roots(), &rotated(), after);
    assert_eq!(one.matches("v1,").count(), 1, "{one}");
}

#[test]
fn both_roots_sign_while_a_root_is_replaced() {
    let roots = SigningRoots {
        current: root(ROOT),
        previous: Some(root(OTHER_ROOT)),
    };
    let one = format!("{FIRST_TOKEN} {OTHER_ROOTS_FIRST_TOKEN}");
    assert_eq!(signature(&roots, &signed(), start()), one);
    let both = format!("{SECOND_TOKEN} {OTHER_ROOTS_SECOND_TOKEN} {one}");
    assert_eq!(signature(&roots, &rotated(), start()), both);
}

#[test]
fn unsigned_is_the_default() {
    let settings = CallbackSettings::default();
    assert_eq!(CallbackSigner::new(&roots(), project(), &settings), None);
}

#[test]
fn a_root_has_32_bytes_and_is_never_printed() {
    for length in [0, 3, 31, 33] {
        let text = STANDARD.encode(vec![7; length]);
        assert_eq!(SigningRoot::parse(&text), None, "{text}");
    }
    let secret = roots().secret(project(), 1);
    insta::assert_snapshot!(format!("{:?} {secret:?}", roots()), @"SigningRoots { current: SigningRoot(…), previous: None } SigningSecret(…)");
}

#[test]
fn the_secret_of_a_listener_follows_from_its_key_and_its_name() {
    let name = |text: &str| text.parse::<ListenerName>().unwrap();
    let secret = |key: &[u8], text| SigningSecret::of_listener(key, project(), &name(text));
    let one = secret(b"key", "anna");
    assert_eq!(one, secret(b"key", "anna"));
    assert_ne!(one, secret(b"key", "ben"));
    assert_ne!(one, secret(b"other", "anna"));
    assert!(one.reveal().starts_with("whsec_"));
}
