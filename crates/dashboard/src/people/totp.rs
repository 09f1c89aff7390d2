//! Time-based one-time passwords (TOTP, RFC 6238): SHA-1, six digits, a new code every 30 seconds.

use domain::time::Timestamp;
use ring::hmac;

/// RFC 4226 recommends a secret as long as the hash.
pub(crate) const SECRET_BYTES: usize = 20;
const STEP_SECONDS: i64 = 30;
/// A code is accepted one step early or late, for clocks that differ.
const MAX_SKEW_STEPS: i64 = 1;
const BASE32_ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The time step of a code, if the code is valid now and no code of that step was used before.
pub(crate) fn matching_step(
    secret: &[u8],
    code: &str,
    last_step: i64,
    now: Timestamp,
) -> Option<i64> {
    let current = now.timestamp().div_euclid(STEP_SECONDS);
    let mut steps = current - MAX_SKEW_STEPS..=current + MAX_SKEW_STEPS;
    steps.find(|step| *step > last_step && code_of_step(secret, *step) == code)
}

fn code_of_step(secret: &[u8], step: i64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let offset = tag
        .as_ref()
        .last()
        .map_or(0, |last| usize::from(last & 0xf));
    let part = tag.as_ref().iter().skip(offset).take(4);
    let number = part.fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
    format!("{:06}", (number & 0x7fff_ffff) % 1_000_000)
}

/// The secret as authenticator apps show it and accept it.
pub(crate) fn base32(bytes: &[u8]) -> String {
    let bits = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |bit| (byte >> bit) & 1));
    let bits: Vec<u8> = bits.collect();
    let letter = |bits: &[u8]| {
        let index = bits
            .iter()
            .fold(0, |index, bit| (index << 1) | usize::from(*bit));
        let padded = index << (5 - bits.len());
        BASE32_ALPHABET.get(padded).copied().map(char::from)
    };
    bits.chunks(5).filter_map(letter).collect()
}

/// The address that authenticator apps open.
pub(crate) fn otpauth_uri(secret: &[u8], email: &str) -> String {
    let encode =
        |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    // A form encodes a space as a plus sign, which a path does not know.
    let label = encode(email).replace('+', "%20");
    let secret = base32(secret);
    format!(
        "otpauth://totp/Longshore:{label}?secret={secret}&issuer=Longshore&algorithm=SHA1&digits=6&period=30"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn codes_are_those_of_rfc_6238() {
        let secret = b"12345678901234567890";
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(code_of_step(secret, seconds / 30), code);
            assert_eq!(
                matching_step(secret, code, 0, at(seconds)),
                Some(seconds / 30)
            );
        }
    }

    #[test]
    fn a_code_is_valid_one_step_around_its_own_and_once() {
        let (secret, code, step) = (b"12345678901234567890", "081804", 37_037_036);
        let valid = |offset: i64, last| {
            matching_step(secret, code, last, at((step + offset) * 30)).is_some()
        };
        assert!(valid(-1, 0) && valid(0, 0) && valid(1, 0));
        assert!(!valid(-2, 0) && !valid(2, 0));
        assert!(valid(0, step - 1) && !valid(0, step) && !valid(0, step + 1));
        assert_eq!(matching_step(secret, "", 0, at(step * 30)), None);
    }

    #[test]
    fn base32_is_that_of_rfc_4648() {
        for (bytes, text) in [
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
        insta::assert_snapshot!(otpauth_uri(b"12345678901234567890", "ada b@example.com"), @"otpauth://totp/Longshore:ada%20b%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Longshore&algorithm=SHA1&digits=6&period=30");
    }
}
