//! An API key: `svc_sk_` and 32 characters of `A-Z a-z 0-9`.
//!
//! Only the SHA-256 digest of the whole key is kept; the first 12 characters
//! are for people.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::time::Timestamp;

const KEY_PREFIX: &str = "svc_sk_";
const RANDOM_CHARS: usize = 32;
const DISPLAY_PREFIX_CHARS: usize = 12;
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A whole key. It is shown once, and `Debug` never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// The SHA-256 digest of a key or a token: all that is stored of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretDigest(pub [u8; 32]);

impl SecretDigest {
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }
}

/// Why a key is refused; the texts are the contract's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiKeyRefusal {
    Missing,
    Malformed,
    Unknown,
    Expired,
    ProjectInactive,
}

impl ApiKey {
    /// Makes a key from random bytes. Bytes that would favour some letters are skipped.
    pub fn generate(random: impl IntoIterator<Item = u8>) -> Option<Self> {
        generate_secret(KEY_PREFIX, random).map(Self)
    }

    pub fn parse(text: &[u8]) -> Result<Self, ApiKeyRefusal> {
        parse_secret(KEY_PREFIX, text).map(Self)
    }

    /// The whole key, for the one time that it is shown.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn digest(&self) -> SecretDigest {
        SecretDigest::of(&self.0)
    }

    /// The first 12 characters, for identification.
    pub fn display_prefix(&self) -> &str {
        self.0.get(..DISPLAY_PREFIX_CHARS).unwrap_or_default()
    }
}

/// A prefix and 32 random characters.
pub(crate) fn generate_secret(
    prefix: &str,
    random: impl IntoIterator<Item = u8>,
) -> Option<String> {
    // 248 is the largest multiple of 62 in a byte: every letter is equally likely.
    let letters = random.into_iter().filter(|byte| *byte < 248);
    let letters = letters.filter_map(|byte| ALPHABET.get(usize::from(byte) % 62).copied());
    let drawn: String = letters.take(RANDOM_CHARS).map(char::from).collect();
    (drawn.len() == RANDOM_CHARS).then(|| format!("{prefix}{drawn}"))
}

/// A secret with this prefix, as a caller sent it.
pub(crate) fn parse_secret(prefix: &str, text: &[u8]) -> Result<String, ApiKeyRefusal> {
    let random = text
        .strip_prefix(prefix.as_bytes())
        .ok_or(ApiKeyRefusal::Malformed)?;
    if random.len() != RANDOM_CHARS || !random.iter().all(u8::is_ascii_alphanumeric) {
        return Err(ApiKeyRefusal::Malformed);
    }
    let text = std::str::from_utf8(text).map_err(|_| ApiKeyRefusal::Malformed)?;
    Ok(text.to_owned())
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDigest(…)")
    }
}

/// Whether a key may be used, as its row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiKeyStatus {
    pub is_active: bool,
    pub expires_at: Option<Timestamp>,
    pub is_project_active: bool,
}

impl ApiKeyStatus {
    /// A deactivated key is refused like an unknown one.
    pub fn admit(self, now: Timestamp) -> Result<(), ApiKeyRefusal> {
        if !self.is_active {
            return Err(ApiKeyRefusal::Unknown);
        }
        if self.expires_at.is_some_and(|expiry| expiry <= now) {
            return Err(ApiKeyRefusal::Expired);
        }
        if !self.is_project_active {
            return Err(ApiKeyRefusal::ProjectInactive);
        }
        Ok(())
    }
}

impl ApiKeyRefusal {
    pub const fn detail(self) -> &'static str {
        match self {
            Self::Missing => "API key required. Include X-API-Key header.",
            Self::Malformed => "Invalid API key format.",
            Self::Unknown => "Invalid API key.",
            Self::Expired => "API key has expired.",
            Self::ProjectInactive => "Project is inactive.",
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn a_generated_key_has_the_promised_form() {
        let key = ApiKey::generate((0..=255).cycle().take(1000)).unwrap();
        assert_eq!(key.reveal().len(), 39);
        assert_eq!(key.display_prefix(), "svc_sk_ABCDE");
        assert_eq!(ApiKey::parse(key.reveal().as_bytes()), Ok(key.clone()));
        assert_eq!(format!("{key:?}"), "ApiKey(…)");
    }

    #[test]
    fn too_little_randomness_makes_no_key() {
        assert_eq!(ApiKey::generate([255; 100]), None);
    }

    #[test]
    fn a_deactivated_key_is_unknown_even_when_expired() {
        let now = DateTime::from_timestamp_micros(1_000_000).unwrap();
        let status = ApiKeyStatus {
            is_active: false,
            expires_at: Some(now),
            is_project_active: false,
        };
        assert_eq!(status.admit(now), Err(ApiKeyRefusal::Unknown));
    }

    #[test]
    fn a_key_expires_at_its_moment() {
        let now = DateTime::from_timestamp_micros(1_000_000).unwrap();
        let mut status = ApiKeyStatus {
            is_active: true,
            expires_at: Some(now),
            is_project_active: true,
        };
        assert_eq!(status.admit(now), Err(ApiKeyRefusal::Expired));
        status.expires_at = Some(now + chrono::TimeDelta::microseconds(1));
        assert_eq!(status.admit(now), Ok(()));
    }
}
