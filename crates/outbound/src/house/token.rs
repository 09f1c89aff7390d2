//! The proof that a house gives: an ID token, signed with a key that it publishes.
//!
//! Two ways of signing are known, RS256 and ES256, and the key decides which: a token
//! that asks for another, or for none, is refused.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use domain::house::Stranger;
use domain::time::Timestamp;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use url::form_urlencoded::byte_serialize;

/// How far clocks may differ.
const SKEW: TimeDelta = TimeDelta::seconds(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotProved {
    #[error("the token cannot be read")]
    Unreadable,
    #[error("the token is signed in a way that is not taken")]
    Algorithm,
    #[error("no published key has signed the token")]
    Signature,
    #[error("the token is another house's")]
    Issuer,
    #[error("the token is for somebody else")]
    Audience,
    #[error("the token is for another visit")]
    Nonce,
    #[error("the token is too old, or too young")]
    Time,
}

#[derive(Debug, Deserialize)]
pub(super) struct Keys {
    keys: Vec<Key>,
}

#[derive(Debug, Deserialize)]
struct Key {
    kty: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default, rename = "use")]
    purpose: Option<String>,
    #[serde(default)]
    n: String,
    #[serde(default)]
    e: String,
    #[serde(default)]
    crv: String,
    #[serde(default)]
    x: String,
    #[serde(default)]
    y: String,
}

#[derive(Debug, Deserialize)]
struct Head {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    #[serde(default)]
    azp: Option<String>,
    exp: i64,
    iat: i64,
    #[serde(default)]
    nonce: Option<String>,
    #[serde(default)]
    email: Option<String>,
    #[serde(default)]
    email_verified: bool,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// What a token must say.
#[derive(Debug)]
pub(super) struct Meant<'a> {
    pub(super) issuer: &'a str,
    pub(super) client: &'a str,
    pub(super) nonce: &'a str,
    pub(super) now: Timestamp,
}

pub(super) fn read(token: &str, keys: &Keys, meant: &Meant<'_>) -> Result<Stranger, NotProved> {
    let (signed, signature) = token.rsplit_once('.').ok_or(NotProved::Unreadable)?;
    let (head, claims) = signed.split_once('.').ok_or(NotProved::Unreadable)?;
    let head: Head = part(head)?;
    let signature = bytes(signature)?;
    let named = |key: &&Key| {
        let is_meant = head.kid.is_none() || key.kid.is_none() || key.kid == head.kid;
        is_meant
            && key
                .purpose
                .as_deref()
                .is_none_or(|purpose| purpose == "sig")
    };
    let kind = match head.alg.as_str() {
        "RS256" => "RSA",
        "ES256" => "EC",
        _ => return Err(NotProved::Algorithm),
    };
    let mut keys = keys.keys.iter().filter(named).filter(|key| key.kty == kind);
    if !keys.any(|key| key.has_signed(signed.as_bytes(), &signature)) {
        return Err(NotProved::Signature);
    }
    part::<Claims>(claims)?.check(meant)
}

impl Key {
    fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        if self.kty == "RSA" {
            let (Ok(n), Ok(e)) = (bytes(&self.n), bytes(&self.e)) else {
                return false;
            };
            let key = RsaPublicKeyComponents { n, e };
            return key
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok();
        }
        let (Ok(x), Ok(y)) = (bytes(&self.x), bytes(&self.y)) else {
            return false;
        };
        let point = [&[4], x.as_slice(), y.as_slice()].concat();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        self.crv == "P-256" && key.verify(message, signature).is_ok()
    }
}

impl Claims {
    fn check(self, meant: &Meant<'_>) -> Result<Stranger, NotProved> {
        if self.iss != meant.issuer {
            return Err(NotProved::Issuer);
        }
        let is_for_us = match &self.aud {
            Audience::One(one) => one == meant.client,
            Audience::Many(many) => {
                let ours = many.iter().any(|one| one == meant.client);
                ours && (many.len() == 1 || self.azp.as_deref() == Some(meant.client))
            }
        };
        if !is_for_us {
            return Err(NotProved::Audience);
        }
        if self.nonce.as_deref() != Some(meant.nonce) {
            return Err(NotProved::Nonce);
        }
        let (early, late) = (
            (meant.now + SKEW).timestamp(),
            (meant.now - SKEW).timestamp(),
        );
        if self.exp <= late || self.iat > early {
            return Err(NotProved::Time);
        }
        if self.sub.is_empty() || self.sub.len() > 255 {
            return Err(NotProved::Unreadable);
        }
        Ok(Stranger {
            issuer: self.iss,
            subject: self.sub,
            name: self.name,
            email: self.email.filter(|_| self.email_verified),
        })
    }
}

fn bytes(text: &str) -> Result<Vec<u8>, NotProved> {
    URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| NotProved::Unreadable)
}

fn part<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, NotProved> {
    serde_json::from_slice(&bytes(text)?).map_err(|_| NotProved::Unreadable)
}

/// What is shown before of the verifier, which is shown after.
pub(super) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// How a client with a secret shows itself; both halves are escaped as in forms.
pub(super) fn basic(client: &str, secret: &str) -> String {
    let escaped = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", escaped(client), escaped(secret));
    format!("Basic {}", STANDARD.encode(pair))
}

#[cfg(test)]
mod tests;
