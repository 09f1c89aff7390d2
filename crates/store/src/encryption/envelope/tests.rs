//! Properties of the format: what was changed, moved or encrypted with another key is refused.

use proptest::prelude::*;

use super::*;

const KINDS: [ContentKind; 8] = [
    ContentKind::Request,
    ContentKind::RequestMetadata,
    ContentKind::Outcome,
    ContentKind::CallbackUrl,
    ContentKind::CallbackAnswer,
    ContentKind::Filename,
    ContentKind::FileMetadata,
    ContentKind::LoadWarnings,
];

fn key(number: u32, byte: u8) -> DataKey {
    DataKey::new(number, &[byte; KEY_BYTES]).unwrap()
}

fn identity(project: u128, row: u128, kind: usize) -> ValueIdentity {
    ValueIdentity {
        project: Uuid::from_u128(project).into(),
        row: Uuid::from_u128(row),
        kind: KINDS[kind % KINDS.len()],
    }
}

#[test]
fn the_format_never_changes() {
    let value = key(7, 3).encrypt(identity(1, 2, 0), b"ahoy", 4, [9; NONCE_LEN]);
    let value = value.unwrap();
    let header: [&[u8]; 2] = [&[1, 0, 0, 0, 7, 0, 0, 0, 4], &[9; NONCE_LEN]];
    let header = header.concat();
    assert_eq!(value[..BYTES_BEFORE_CIPHERTEXT], header);
    assert_eq!(value.len(), BYTES_BEFORE_CIPHERTEXT + 4 + TAG_BYTES);
    let header = EncryptedHeader::parse(&value).unwrap();
    assert_eq!((header.key_number, header.size), (7, 4));
    assert_eq!(
        EncryptedHeader::parse_text(&encode_text(&value)),
        Some(header)
    );
}

#[test]
fn plain_values_are_no_encrypted_ones() {
    for plain in [
        &b""[..],
        b"{\"a\": \"a longer text\"}",
        b"(\xb5/\xfd zstd frame",
        &[1; 8],
    ] {
        assert_eq!(EncryptedHeader::parse(plain), None);
    }
    for plain in [
        "",
        "https://example.com/encrypted:",
        "Encrypted:AQAAAAcAAAAE",
    ] {
        assert_eq!(EncryptedHeader::parse_text(plain), None);
        assert_eq!(decode_text(plain), None);
    }
}

#[test]
fn a_keyed_digest_depends_on_the_key() {
    let digest = [5; 32];
    assert_eq!(
        key(1, 1).keyed_digest(&digest),
        key(1, 1).keyed_digest(&digest)
    );
    assert_ne!(
        key(1, 1).keyed_digest(&digest),
        key(1, 2).keyed_digest(&digest)
    );
    assert_ne!(key(1, 1).keyed_digest(&digest), digest);
}

proptest! {
    #[test]
    fn a_value_comes_back_as_it_was(
        plain in prop::collection::vec(any::<u8>(), 0..300),
        nonce: [u8; NONCE_LEN], project: u128, row: u128, kind in 0_usize..7,
    ) {
        let (key, identity) = (key(1, 1), identity(project, row, kind));
        let value = key.encrypt(identity, &plain, plain.len(), nonce).unwrap();
        let text = encode_text(&value);
        prop_assert_eq!(decode_text(&text), Some(value.clone()));
        // The size of the random value is enough for the text not to be there by chance.
        prop_assert!(plain.len() < 8 || !value.windows(plain.len()).any(|it| it == plain));
        prop_assert_eq!(key.decrypt(identity, value), Some(plain));
    }

    #[test]
    fn a_changed_byte_is_refused(
        plain in prop::collection::vec(any::<u8>(), 0..100),
        at: prop::sample::Index, change in 1_u8..,
    ) {
        let (key, identity) = (key(1, 1), identity(1, 2, 3));
        let mut value = key.encrypt(identity, &plain, plain.len(), [0; NONCE_LEN]).unwrap();
        let at = at.index(value.len());
        value[at] ^= change;
        prop_assert_eq!(key.decrypt(identity, value), None);
    }

    #[test]
    fn a_shortened_value_is_refused(length in 0_usize..60) {
        let (key, identity) = (key(1, 1), identity(1, 2, 3));
        let mut value = key.encrypt(identity, &[7; 30], 30, [0; NONCE_LEN]).unwrap();
        value.truncate(length);
        prop_assert_eq!(key.decrypt(identity, value), None);
    }

    #[test]
    fn another_place_and_another_key_are_refused(
        project in 0_u128..3, row in 0_u128..3, kind in 0_usize..7, byte in 1_u8..3,
    ) {
        let value = key(1, 1).encrypt(identity(0, 0, 0), b"ahoy", 4, [0; NONCE_LEN]).unwrap();
        let is_same = (project, row, kind, byte) == (0, 0, 0, 1);
        let plain = key(1, byte).decrypt(identity(project, row, kind), value);
        prop_assert_eq!(plain.is_some(), is_same);
    }
}
