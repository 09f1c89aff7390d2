//! Verifies an ID token: a JWT signed with a key that the provider publishes.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use domain::oidc::ExternalIdentity;
use domain::time::Timestamp;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use url::form_urlencoded::byte_serialize;

use crate::oidc::json_web_key::{JsonWebKeySet, SignatureAlgorithm};

const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::seconds(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdTokenError {
    #[error("the token cannot be read")]
    Unreadable,
    #[error("the signing algorithm is not supported")]
    Algorithm,
    #[error("no published key signed the token")]
    Signature,
    #[error("the token has another issuer")]
    Issuer,
    #[error("the token is for another client")]
    Audience,
    #[error("the token has another nonce")]
    Nonce,
    #[error("the token has expired or is not valid yet")]
    Expiry,
    #[error("the person did not sign in again: auth_time is missing or too old")]
    AuthTime,
}

#[derive(Debug, Deserialize)]
struct TokenHeader {
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
    auth_time: Option<i64>,
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

#[derive(Debug)]
pub(super) struct ExpectedClaims<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    pub(super) fresh_since: Option<Timestamp>,
    pub(super) requires_auth_time: bool,
    pub(super) now: Timestamp,
}

pub(super) fn verify_id_token(
    token: &str,
    keys: &JsonWebKeySet,
    expected: &ExpectedClaims<'_>,
) -> Result<ExternalIdentity, IdTokenError> {
    let (signed, signature) = token.rsplit_once('.').ok_or(IdTokenError::Unreadable)?;
    let (head, claims) = signed.split_once('.').ok_or(IdTokenError::Unreadable)?;
    let head: TokenHeader = decode_json(head)?;
    let signature = decode_base64url(signature)?;
    let algorithm = SignatureAlgorithm::parse(&head.alg).ok_or(IdTokenError::Algorithm)?;
    let kid = head.kid.as_deref();
    if !keys.has_signed(algorithm, kid, signed.as_bytes(), &signature) {
        return Err(IdTokenError::Signature);
    }
    decode_json::<Claims>(claims)?.check(expected)
}

impl Claims {
    fn check(self, expected: &ExpectedClaims<'_>) -> Result<ExternalIdentity, IdTokenError> {
        if self.iss != expected.issuer {
            return Err(IdTokenError::Issuer);
        }
        let is_for_us = match &self.aud {
            Audience::One(one) => one == expected.client_id,
            Audience::Many(many) => {
                let ours = many.iter().any(|one| one == expected.client_id);
                ours && (many.len() == 1 || self.azp.as_deref() == Some(expected.client_id))
            }
        };
        if !is_for_us {
            return Err(IdTokenError::Audience);
        }
        if self.nonce.as_deref() != Some(expected.nonce) {
            return Err(IdTokenError::Nonce);
        }
        let (early, late) = (
            (expected.now + MAX_CLOCK_SKEW).timestamp(),
            (expected.now - MAX_CLOCK_SKEW).timestamp(),
        );
        if self.exp <= late || self.iat > early {
            return Err(IdTokenError::Expiry);
        }
        if self.sub.is_empty() || self.sub.len() > 255 {
            return Err(IdTokenError::Unreadable);
        }
        let skew = MAX_CLOCK_SKEW.num_seconds();
        let is_fresh = |since: Timestamp| {
            let is_missing_allowed = !expected.requires_auth_time;
            let auth_time = self.auth_time;
            auth_time.map_or(is_missing_allowed, |it| it >= since.timestamp() - skew)
        };
        if !expected.fresh_since.is_none_or(is_fresh) {
            return Err(IdTokenError::AuthTime);
        }
        let authenticated_at = self
            .auth_time
            .and_then(|seconds| Timestamp::from_timestamp(seconds, 0))
            .map(|at| at.clamp(Timestamp::UNIX_EPOCH, expected.now));
        Ok(ExternalIdentity {
            issuer: self.iss,
            subject: self.sub,
            name: self.name,
            email: self.email.filter(|_| self.email_verified),
            authenticated_at,
        })
    }
}

fn decode_base64url(text: &str) -> Result<Vec<u8>, IdTokenError> {
    URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| IdTokenError::Unreadable)
}

fn decode_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, IdTokenError> {
    serde_json::from_slice(&decode_base64url(text)?).map_err(|_| IdTokenError::Unreadable)
}

/// The PKCE challenge (S256) of a code verifier.
pub(super) fn code_challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// HTTP Basic credentials of a client with a secret. RFC 6749 form-encodes both halves.
pub(super) fn basic_authorization(client: &str, secret: &str) -> String {
    let escaped = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", escaped(client), escaped(secret));
    format!("Basic {}", STANDARD.encode(pair))
}

#[cfg(test)]
mod tests;
