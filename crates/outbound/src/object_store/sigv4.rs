//! AWS Signature Version 4 in the query string. Grants and our own calls both use it.

use std::fmt::Write as _;
use std::time::Duration;

use domain::time::Timestamp;
use http::Method;
use ring::hmac;
use sha2::{Digest as _, Sha256};

use super::failure::ObjectStoreSetupFailure;
use crate::percent_encoding::percent_encode;

pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";

pub(super) struct SigV4Signer {
    access_key: String,
    /// The secret key prefixed with `AWS4`.
    secret: hmac::Key,
    region: String,
    /// Credentials of a role have one.
    session_token: Option<String>,
}

/// Header names are lowercase. The signer adds `host`.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnsignedRequest<'a> {
    pub(super) method: &'a Method,
    pub(super) host: &'a str,
    /// Contains unreserved characters and slashes only.
    pub(super) path: &'a str,
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) expires: Duration,
}

impl SigV4Signer {
    pub(super) fn new(
        access_key: String,
        secret_key: &str,
        region: String,
    ) -> Result<Self, ObjectStoreSetupFailure> {
        if access_key.is_empty() || secret_key.is_empty() || region.is_empty() {
            return Err(ObjectStoreSetupFailure::Credentials);
        }
        Ok(Self {
            access_key,
            secret: hmac_key(format!("AWS4{secret_key}").as_bytes()),
            region,
            session_token: None,
        })
    }

    pub(super) fn with_session_token(self, token: String) -> Self {
        Self {
            session_token: Some(token),
            ..self
        }
    }

    pub(super) fn session_token(&self) -> Option<&str> {
        self.session_token.as_deref()
    }

    pub(super) fn credential(&self, now: Timestamp) -> String {
        format!("{}/{}", self.access_key, self.credential_scope(now))
    }

    /// Signs a text as it is, such as a POST policy.
    pub(super) fn signature(&self, text: &str, now: Timestamp) -> String {
        let mut derived = hmac::sign(&self.secret, format_date(now).as_bytes());
        for step in [self.region.as_str(), "s3", "aws4_request", text] {
            derived = hmac::sign(&hmac_key(derived.as_ref()), step.as_bytes());
        }
        hex::encode(derived)
    }

    /// The path and query of the signed request.
    pub(super) fn presign(&self, request: UnsignedRequest<'_>, now: Timestamp) -> String {
        let mut headers = vec![("host", request.host)];
        headers.extend(request.headers);
        headers.sort_unstable();
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let (date, credential) = (format_timestamp(now), self.credential(now));
        let expires = request.expires.as_secs().to_string();
        let mut query = vec![
            ("X-Amz-Algorithm", ALGORITHM),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", &date),
            ("X-Amz-Expires", &expires),
            ("X-Amz-SignedHeaders", &names),
        ];
        query.extend(
            self.session_token()
                .map(|token| ("X-Amz-Security-Token", token)),
        );
        query.extend(request.query);
        let query = canonical_query(&query);

        let mut text = format!("{}\n{}\n{query}\n", request.method, request.path);
        for (name, value) in headers {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name}:{}", value.trim());
        }
        let _ = write!(text, "\n{names}\nUNSIGNED-PAYLOAD");
        let digest = hex::encode(Sha256::digest(text));
        let text = format!(
            "{ALGORITHM}\n{date}\n{}\n{digest}",
            self.credential_scope(now)
        );
        let signature = self.signature(&text, now);
        format!("{}?{query}&X-Amz-Signature={signature}", request.path)
    }

    fn credential_scope(&self, now: Timestamp) -> String {
        format!("{}/{}/s3/aws4_request", format_date(now), self.region)
    }
}

fn hmac_key(bytes: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, bytes)
}

fn format_date(now: Timestamp) -> String {
    now.format("%Y%m%d").to_string()
}

/// The format of `x-amz-date`.
pub(super) fn format_timestamp(now: Timestamp) -> String {
    now.format("%Y%m%dT%H%M%SZ").to_string()
}

/// Encodes first and sorts afterwards.
fn canonical_query(query: &[(&str, &str)]) -> String {
    let mut pairs: Vec<(String, String)> = query
        .iter()
        .map(|(name, value)| (percent_encode(name), percent_encode(value)))
        .collect();
    pairs.sort_unstable();
    let pairs: Vec<String> = pairs
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests;
