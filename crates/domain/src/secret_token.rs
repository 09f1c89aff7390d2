//! Secret tokens of sessions and links: 32 random bytes, of which only a digest is stored.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::api_key::SecretDigest;

/// It is handed out once, and `Debug` never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretToken(String);

impl SecretToken {
    pub fn from_random(random: [u8; 32]) -> Self {
        Self(hex::encode(random))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (text.len() == 64 && is_hex).then(|| Self(text.to_owned()))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn digest(&self) -> SecretDigest {
        SecretDigest::of(&self.0)
    }

    /// The CSRF token for forms of this session. It does not reveal the session's token.
    pub fn csrf_token(&self) -> String {
        self.derive("form")
    }

    /// A value that only the holder can know, different for each purpose. It does not reveal the
    /// token.
    pub fn derive(&self, purpose: &str) -> String {
        hex::encode(Sha256::digest(format!("{purpose} {}", self.0)))
    }
}

impl fmt::Debug for SecretToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let token = SecretToken::from_random([7; 32]);
        assert_eq!(SecretToken::parse(token.reveal()), Some(token.clone()));
        assert_ne!(
            token.csrf_token(),
            SecretToken::from_random([8; 32]).csrf_token()
        );
        assert_eq!(format!("{token:?}"), "SecretToken(…)");
        for bad in ["", "07", &"G".repeat(64), &"A".repeat(64), &"0".repeat(65)] {
            assert_eq!(SecretToken::parse(bad), None, "{bad}");
        }
    }
}
