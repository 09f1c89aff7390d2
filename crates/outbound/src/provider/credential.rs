//! The API key of a provider account. It is sent to the provider and never shown or logged.

use std::fmt;

#[derive(Clone, PartialEq, Eq)]
pub struct ProviderCredential(String);

impl ProviderCredential {
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    pub(super) fn secret(&self) -> &str {
        &self.0
    }

    /// Replaces the secret where a provider repeated it in its response.
    pub(super) fn redact(&self, text: String) -> String {
        if self.0.is_empty() || !text.contains(&self.0) {
            return text;
        }
        text.replace(&self.0, "***")
    }
}

impl fmt::Debug for ProviderCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_never_shown() {
        let credential = ProviderCredential::new("sk-secret");
        assert_eq!(format!("{credential:?}"), "***");
        let message = "Incorrect API key provided: sk-secret.".to_owned();
        assert_eq!(
            credential.redact(message),
            "Incorrect API key provided: ***."
        );
        assert_eq!(ProviderCredential::new("").redact("a".to_owned()), "a");
    }
}
