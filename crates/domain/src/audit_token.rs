//! An audit token: `svc_audit_` and 32 characters of `A-Z a-z 0-9`. It reads the audit log, and
//! nothing else.

use std::fmt;

use crate::api_key::{ApiKeyRefusal, SecretDigest, generate_secret, parse_secret};

const TOKEN_PREFIX: &str = "svc_audit_";
const DISPLAY_PREFIX_CHARS: usize = 15;

/// A whole token. It is shown once, and `Debug` never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct AuditToken(String);

impl AuditToken {
    /// Makes a token from random bytes, like an API key.
    pub fn generate(random: impl IntoIterator<Item = u8>) -> Option<Self> {
        generate_secret(TOKEN_PREFIX, random).map(Self)
    }

    /// A caller sends a token as it sends an API key, and is refused in the same way.
    pub fn parse(text: &[u8]) -> Result<Self, ApiKeyRefusal> {
        parse_secret(TOKEN_PREFIX, text).map(Self)
    }

    /// The whole token, for the one time that it is shown.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn digest(&self) -> SecretDigest {
        SecretDigest::of(&self.0)
    }

    /// The first 15 characters, for identification.
    pub fn display_prefix(&self) -> &str {
        self.0.get(..DISPLAY_PREFIX_CHARS).unwrap_or_default()
    }
}

impl fmt::Debug for AuditToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_key::ApiKey;

    #[test]
    fn a_token_is_no_api_key() {
        let token = AuditToken::generate((0..=255).cycle().take(1000)).unwrap();
        assert_eq!(token.display_prefix(), "svc_audit_ABCDE");
        assert_eq!(format!("{token:?}"), "AuditToken(…)");
        let text = token.reveal().as_bytes();
        assert_eq!(AuditToken::parse(text), Ok(token.clone()));
        assert_eq!(ApiKey::parse(text), Err(ApiKeyRefusal::Malformed));
        let key = ApiKey::generate((0..=255).cycle().take(1000)).unwrap();
        let key = AuditToken::parse(key.reveal().as_bytes());
        assert_eq!(key, Err(ApiKeyRefusal::Malformed));
    }
}
