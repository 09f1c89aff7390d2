//! The keys that an OIDC provider publishes (JWKS, RFC 7517), and the signatures that they verify.
//!
//! A key is used only with the algorithms that fit its type, its curve and its `alg`. So a token
//! cannot choose how its signature is verified.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;

/// The algorithms that are accepted. `none` and algorithms with a shared secret are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignatureAlgorithm {
    Rs256,
    Ps256,
    Es256,
    EdDsa,
}

impl SignatureAlgorithm {
    pub(super) fn parse(alg: &str) -> Option<Self> {
        match alg {
            "RS256" => Some(Self::Rs256),
            "PS256" => Some(Self::Ps256),
            "ES256" => Some(Self::Es256),
            // RFC 9864 gives EdDSA on this curve a name of its own.
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }

    /// The type of its keys, and their curve if they have one.
    fn key_type(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Rs256 | Self::Ps256 => ("RSA", None),
            Self::Es256 => ("EC", Some("P-256")),
            Self::EdDsa => ("OKP", Some("Ed25519")),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct JsonWebKeySet {
    keys: Vec<JsonWebKey>,
}

#[derive(Debug, Deserialize)]
struct JsonWebKey {
    kty: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default, rename = "use")]
    purpose: Option<String>,
    #[serde(default)]
    alg: Option<String>,
    #[serde(default)]
    n: String,
    #[serde(default)]
    e: String,
    #[serde(default)]
    crv: Option<String>,
    #[serde(default)]
    x: String,
    #[serde(default)]
    y: String,
}

impl JsonWebKeySet {
    /// Whether a key that fits the algorithm and the key id has signed the message.
    pub(super) fn has_signed(
        &self,
        algorithm: SignatureAlgorithm,
        kid: Option<&str>,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        let mut keys = self.keys.iter().filter(|key| key.fits(algorithm, kid));
        keys.any(|key| key.has_signed(algorithm, message, signature))
    }
}

impl JsonWebKey {
    fn fits(&self, algorithm: SignatureAlgorithm, kid: Option<&str>) -> bool {
        let (kty, crv) = algorithm.key_type();
        let is_named = kid.is_none() || self.kid.is_none() || self.kid.as_deref() == kid;
        let is_for_signatures = self.purpose.as_deref().is_none_or(|it| it == "sig");
        let alg = self.alg.as_deref();
        let allows = alg.is_none_or(|alg| SignatureAlgorithm::parse(alg) == Some(algorithm));
        let has_curve = crv.is_none() || self.crv.as_deref() == crv;
        is_named && is_for_signatures && allows && self.kty == kty && has_curve
    }

    fn has_signed(&self, algorithm: SignatureAlgorithm, message: &[u8], signature: &[u8]) -> bool {
        let verified = match algorithm {
            SignatureAlgorithm::Rs256 => {
                let key = self.rsa_key();
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            SignatureAlgorithm::Ps256 => {
                let key = self.rsa_key();
                key.verify(&RSA_PSS_2048_8192_SHA256, message, signature)
            }
            SignatureAlgorithm::Es256 => {
                let (x, y) = (decode(&self.x), decode(&self.y));
                let point = [&[4], x.as_slice(), y.as_slice()].concat();
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, signature)
            }
            SignatureAlgorithm::EdDsa => {
                let key = UnparsedPublicKey::new(&ED25519, decode(&self.x));
                key.verify(message, signature)
            }
        };
        verified.is_ok()
    }

    fn rsa_key(&self) -> RsaPublicKeyComponents<Vec<u8>> {
        RsaPublicKeyComponents {
            n: decode(&self.n),
            e: decode(&self.e),
        }
    }
}

/// A part that cannot be read is empty. A key with an empty part verifies nothing.
fn decode(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap_or_default()
}

#[cfg(test)]
mod tests;
