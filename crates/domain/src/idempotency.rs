//! `Idempotency-Key`: a caller's own name for a load, so that repeating it is safe.

use chrono::TimeDelta;
use sha2::{Digest as _, Sha256};

/// How long a key is remembered.
pub const KEPT: TimeDelta = TimeDelta::hours(24);
/// The longest key.
pub const LONGEST: usize = 255;

/// A key and the digest of the body that came with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub key: String,
    pub digest: [u8; 32],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Idempotency-Key must be 1 to 255 visible ASCII characters")]
pub struct NotAKey;

impl Named {
    pub fn new(key: &[u8], body: &[u8]) -> Result<Self, NotAKey> {
        let visible = key
            .iter()
            .all(|byte| byte.is_ascii_graphic() || *byte == b' ');
        if key.is_empty() || key.len() > LONGEST || !visible {
            return Err(NotAKey);
        }
        let key = String::from_utf8_lossy(key).into_owned();
        Ok(Self {
            key,
            digest: Sha256::digest(body).into(),
        })
    }

    /// The same key with the same body is the same load; with another it is a mistake.
    pub fn repeats(&self, digest: &[u8]) -> bool {
        self.digest == digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_short_and_visible() {
        assert!(Named::new(&[b'k'; 255], b"").is_ok());
        for bad in [&b""[..], &[b'k'; 256], b"a\nb", &[0xff]] {
            assert_eq!(Named::new(bad, b""), Err(NotAKey));
        }
    }

    #[test]
    fn a_load_repeats_when_its_body_does() {
        let first = Named::new(b"k", b"body").unwrap();
        assert!(first.repeats(&Named::new(b"k", b"body").unwrap().digest));
        assert!(!first.repeats(&Named::new(b"k", b"other").unwrap().digest));
    }
}
