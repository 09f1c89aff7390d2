//! What proves to a provider who asks. It is sent, and never shown.

use std::fmt;

#[derive(Clone, PartialEq, Eq)]
pub struct Credential(String);

impl Credential {
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    pub(super) fn secret(&self) -> &str {
        &self.0
    }

    /// The text without the secret, should a provider have said it back.
    pub(super) fn scrubbed(&self, text: String) -> String {
        if self.0.is_empty() || !text.contains(&self.0) {
            return text;
        }
        text.replace(&self.0, "***")
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_never_shown() {
        let credential = Credential::new("sk-secret");
        assert_eq!(format!("{credential:?}"), "***");
        let said = "Incorrect API key provided: sk-secret.".to_owned();
        assert_eq!(
            credential.scrubbed(said),
            "Incorrect API key provided: ***."
        );
        assert_eq!(Credential::new("").scrubbed("a".to_owned()), "a");
    }
}
