//! `Idempotency-Key`: a caller's name for a load, so that repeating the load is safe.

use chrono::TimeDelta;
use sha2::{Digest as _, Sha256};

/// How long a key is remembered.
pub const IDEMPOTENCY_KEY_RETENTION: TimeDelta = TimeDelta::hours(24);
pub const MAX_IDEMPOTENCY_KEY_BYTES: usize = 255;

/// A key and the digest of the body that came with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub key: String,
    pub body_digest: [u8; 32],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Idempotency-Key must be 1 to 255 visible ASCII characters")]
pub struct InvalidIdempotencyKey;

impl IdempotencyKey {
    pub fn new(key: &[u8], body: &[u8]) -> Result<Self, InvalidIdempotencyKey> {
        let visible = key
            .iter()
            .all(|byte| byte.is_ascii_graphic() || *byte == b' ');
        if key.is_empty() || key.len() > MAX_IDEMPOTENCY_KEY_BYTES || !visible {
            return Err(InvalidIdempotencyKey);
        }
        let key = String::from_utf8_lossy(key).into_owned();
        Ok(Self {
            key,
            body_digest: Sha256::digest(body).into(),
        })
    }

    /// The same key with the same body is the same load; with another body it is an error.
    pub fn matches_body(&self, digest: &[u8]) -> bool {
        self.body_digest == digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_short_and_visible() {
        assert!(IdempotencyKey::new(&[b'k'; 255], b"").is_ok());
        for bad in [&b""[..], &[b'k'; 256], b"a\nb", &[0xff]] {
            assert_eq!(IdempotencyKey::new(bad, b""), Err(InvalidIdempotencyKey));
        }
    }

    #[test]
    fn a_load_repeats_when_its_body_does() {
        let first = IdempotencyKey::new(b"k", b"body").unwrap();
        assert!(first.matches_body(&IdempotencyKey::new(b"k", b"body").unwrap().body_digest));
        assert!(!first.matches_body(&IdempotencyKey::new(b"k", b"other").unwrap().body_digest));
    }
}
