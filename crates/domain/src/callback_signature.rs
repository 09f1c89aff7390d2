//! Webhook signatures of callbacks, as Standard Webhooks defines them (scheme `v1`).
//!
//! No secret is stored. Each one follows from a root of the installation, the project and the
//! secret's number, so a stolen database cannot forge a callback.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::callback_settings::CallbackSettings;
use crate::id::{CargoId, GroupId, ProjectId};
use crate::listener_name::ListenerName;
use crate::time::Timestamp;

const SECRET_PREFIX: &str = "whsec_";
/// Separates these secrets from any others that may be derived from the same root.
const DERIVATION_LABEL: &str = "longshore callback v1";
const LISTENER_LABEL: &str = "longshore listener v1";
const TOTP_LABEL: &str = "longshore totp v1";

/// The 32 bytes that all secrets and the key of TOTP secrets are derived from. `Debug` never shows them.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningRoot([u8; 32]);

/// The roots of an installation. While a root is replaced, the secrets of both sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningRoots {
    pub current: SigningRoot,
    pub previous: Option<SigningRoot>,
}

/// One secret of a project. `Debug` never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret([u8; 32]);

/// Signs the callbacks of one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackSigner {
    /// The newest first, each with its end.
    secrets: Vec<(SigningSecret, Option<Timestamp>)>,
}

/// The three headers of a signed callback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureHeaders {
    id: String,
    timestamp: String,
    signature: String,
}

impl SigningRoot {
    /// Reads 32 bytes in base64.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text).ok()?;
        bytes.try_into().map(Self).ok()
    }

    /// The key that encrypts the TOTP secrets of people.
    pub fn totp_key(&self) -> [u8; 32] {
        self.derive(TOTP_LABEL)
    }

    fn secret(&self, project: ProjectId, version: u32) -> SigningSecret {
        SigningSecret(self.derive(&format!("{DERIVATION_LABEL} {project} {version}")))
    }

    fn derive(&self, info: &str) -> [u8; 32] {
        let mut derived = [0; 32];
        // HKDF gives up to 255 times as many bytes.
        let _ = Hkdf::<Sha256>::new(None, &self.0).expand(info.as_bytes(), &mut derived);
        derived
    }
}

impl SigningRoots {
    /// The secret that a receiver verifies with.
    pub fn secret(&self, project: ProjectId, version: u32) -> SigningSecret {
        self.current.secret(project, version)
    }
}

impl SigningSecret {
    /// The secret of a listener of a project that does not sign its callbacks. It follows from the
    /// API key, so it is the same after the listener reconnects, and is stored nowhere.
    pub fn of_listener(api_key: &[u8], project: ProjectId, name: &ListenerName) -> Self {
        let mut derived = [0; 32];
        let info = format!("{LISTENER_LABEL} {project} {name}");
        // HKDF gives up to 255 times as many bytes.
        let _ = Hkdf::<Sha256>::new(None, api_key).expand(info.as_bytes(), &mut derived);
        Self(derived)
    }

    /// The secret as Standard Webhooks writes it. For the project's people only.
    pub fn reveal(&self) -> String {
        format!("{SECRET_PREFIX}{}", STANDARD.encode(self.0))
    }
}

impl CallbackSigner {
    /// None if the project's callbacks are not signed.
    pub fn new(
        roots: &SigningRoots,
        project: ProjectId,
        settings: &CallbackSettings,
    ) -> Option<Self> {
        let newest = settings.is_signed.then_some((settings.version, None))?;
        let previous = settings.previous.map(|it| (it.version, Some(it.until)));
        let roots: Vec<&SigningRoot> = std::iter::once(&roots.current)
            .chain(&roots.previous)
            .collect();
        let versions = std::iter::once(newest).chain(previous);
        let secrets = versions.flat_map(|(version, until)| {
            let secret = move |root: &&SigningRoot| (root.secret(project, version), until);
            roots.iter().map(secret)
        });
        Some(Self {
            secrets: secrets.collect(),
        })
    }

    /// Signs with one secret, which does not end.
    pub fn with_secret(secret: SigningSecret) -> Self {
        Self {
            secrets: vec![(secret, None)],
        }
    }

    /// The headers of an attempt that begins at `now`.
    pub fn sign(&self, cargo: CargoId, now: Timestamp, body: &[u8]) -> SignatureHeaders {
        self.sign_message(cargo.to_string(), now, body)
    }

    /// The same for the callback of a group.
    pub fn sign_for_group(&self, group: GroupId, now: Timestamp, body: &[u8]) -> SignatureHeaders {
        self.sign_message(group.to_string(), now, body)
    }

    fn sign_message(&self, id: String, now: Timestamp, body: &[u8]) -> SignatureHeaders {
        let timestamp = now.timestamp().to_string();
        let valid = |until: &Option<Timestamp>| until.is_none_or(|until| until > now);
        let tokens: Vec<String> = self
            .secrets
            .iter()
            .filter(|(_, until)| valid(until))
            .map(|(secret, _)| signature_token(&secret.0, &id, &timestamp, body))
            .collect();
        SignatureHeaders {
            id,
            timestamp,
            signature: tokens.join(" "),
        }
    }
}

impl SignatureHeaders {
    pub fn pairs(&self) -> [(&'static str, &str); 3] {
        [
            ("webhook-id", &self.id),
            ("webhook-timestamp", &self.timestamp),
            ("webhook-signature", &self.signature),
        ]
    }
}

fn signature_token(key: &[u8], id: &str, timestamp: &str, body: &[u8]) -> String {
    // HMAC takes a key of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return String::new();
    };
    for part in [id, ".", timestamp, "."] {
        mac.update(part.as_bytes());
    }
    mac.update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

impl fmt::Debug for SigningRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningRoot(…)")
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(…)")
    }
}

#[cfg(test)]
mod tests;
