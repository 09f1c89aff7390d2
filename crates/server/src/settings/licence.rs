//! Settings of the licence and of the plans' limits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Upper bound for tokens, bytes and files in plans and licences; their sums fit in 64 bits.
pub const MAX_PLAN_AMOUNT: u64 = 1_000_000_000_000_000;

/// The DER header (`SubjectPublicKeyInfo`) before the 32 bytes in a PEM file of an Ed25519 key.
const ED25519_SPKI_PREFIX: [u8; 12] = [48, 42, 48, 5, 6, 3, 43, 101, 112, 3, 33, 0];

/// The Ed25519 key that a licence is verified with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LicencePublicKey(pub [u8; 32]);

pub(super) fn public_key(text: &str) -> Result<LicencePublicKey, String> {
    let bytes = STANDARD.decode(text).unwrap_or_default();
    let key = bytes.strip_prefix(&ED25519_SPKI_PREFIX).unwrap_or(&bytes);
    key.try_into().map(LicencePublicKey).map_err(|_| {
        "the base64 of an Ed25519 public key: 32 bytes, \
         or the line between BEGIN and END PUBLIC KEY"
            .to_owned()
    })
}

pub(super) fn amount(text: &str) -> Result<Option<u64>, String> {
    if text == "unlimited" {
        return Ok(None);
    }
    let number = text.parse().ok();
    match number.filter(|number| *number <= MAX_PLAN_AMOUNT) {
        Some(number) => Ok(Some(number)),
        None => Err(format!(
            "a whole number from 0 to {MAX_PLAN_AMOUNT}, or unlimited"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_key_is_taken_bare_or_as_openssl_writes_it() {
        let key = LicencePublicKey([7; 32]);
        assert_eq!(public_key(&STANDARD.encode([7; 32])), Ok(key));
        let wrapped = [ED25519_SPKI_PREFIX.as_slice(), &[7; 32]].concat();
        let line = STANDARD.encode(wrapped);
        assert!(line.starts_with("MCowBQYDK2VwAyEA"), "{line}");
        assert_eq!(public_key(&line), Ok(key));
        for wrong in [
            "?",
            "AAAA",
            &STANDARD.encode([7; 33]),
            &STANDARD.encode([7; 44]),
        ] {
            assert!(public_key(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_amount_is_a_number_or_unlimited() {
        assert_eq!(amount("0"), Ok(Some(0)));
        assert_eq!(amount("1000000000000000"), Ok(Some(MAX_PLAN_AMOUNT)));
        assert_eq!(amount("unlimited"), Ok(None));
        for wrong in ["", "-1", "1e6", "1000000000000001", "Unlimited"] {
            assert!(amount(wrong).is_err(), "{wrong}");
        }
    }
}
