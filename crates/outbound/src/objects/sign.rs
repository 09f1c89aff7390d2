//! AWS Signature Version 4, as a query: the one kind that grants and our own calls share.

use std::fmt::Write as _;
use std::time::Duration;

use domain::time::Timestamp;
use http::Method;
use ring::hmac;
use sha2::{Digest as _, Sha256};

use super::failure::SetupFailure;

pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Who signs.
pub(super) struct Signer {
    access_key: String,
    /// The secret with its `AWS4` before it.
    secret: hmac::Key,
    region: String,
}

/// What is signed. Names of headers are lowercase; the host is added.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unsigned<'a> {
    pub(super) method: &'a Method,
    pub(super) host: &'a str,
    /// Of unreserved characters and slashes only.
    pub(super) path: &'a str,
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) expires: Duration,
}

impl Signer {
    pub(super) fn new(
        access_key: String,
        secret_key: &str,
        region: String,
    ) -> Result<Self, SetupFailure> {
        if access_key.is_empty() || secret_key.is_empty() || region.is_empty() {
            return Err(SetupFailure::Credentials);
        }
        Ok(Self {
            access_key,
            secret: key(format!("AWS4{secret_key}").as_bytes()),
            region,
        })
    }

    pub(super) fn credential(&self, now: Timestamp) -> String {
        format!("{}/{}", self.access_key, self.scope(now))
    }

    /// The signature of a text that says itself what it is, such as a policy.
    pub(super) fn signature(&self, text: &str, now: Timestamp) -> String {
        let mut derived = hmac::sign(&self.secret, day(now).as_bytes());
        for step in [self.region.as_str(), "s3", "aws4_request", text] {
            derived = hmac::sign(&key(derived.as_ref()), step.as_bytes());
        }
        hex::encode(derived)
    }

    /// Path and query of the signed request.
    pub(super) fn presign(&self, request: Unsigned<'_>, now: Timestamp) -> String {
        let mut headers = vec![("host", request.host)];
        headers.extend(request.headers);
        headers.sort_unstable();
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let (date, credential) = (moment(now), self.credential(now));
        let expires = request.expires.as_secs().to_string();
        let mut query = vec![
            ("X-Amz-Algorithm", ALGORITHM),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", &date),
            ("X-Amz-Expires", &expires),
            ("X-Amz-SignedHeaders", &names),
        ];
        query.extend(request.query);
        let query = canonical(&query);

        let mut text = format!("{}\n{}\n{query}\n", request.method, request.path);
        for (name, value) in headers {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name}:{}", value.trim());
        }
        let _ = write!(text, "\n{names}\nUNSIGNED-PAYLOAD");
        let digest = hex::encode(Sha256::digest(text));
        let text = format!("{ALGORITHM}\n{date}\n{}\n{digest}", self.scope(now));
        let signature = self.signature(&text, now);
        format!("{}?{query}&X-Amz-Signature={signature}", request.path)
    }

    fn scope(&self, now: Timestamp) -> String {
        format!("{}/{}/s3/aws4_request", day(now), self.region)
    }
}

fn key(bytes: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, bytes)
}

fn day(now: Timestamp) -> String {
    now.format("%Y%m%d").to_string()
}

/// The date as headers and fields write it.
pub(super) fn moment(now: Timestamp) -> String {
    now.format("%Y%m%dT%H%M%SZ").to_string()
}

/// Sorted after it was encoded.
fn canonical(query: &[(&str, &str)]) -> String {
    let mut pairs: Vec<(String, String)> = query
        .iter()
        .map(|(name, value)| (encode(name), encode(value)))
        .collect();
    pairs.sort_unstable();
    let pairs: Vec<String> = pairs
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

/// Everything but the unreserved characters of RFC 3986.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// A key keeps its slashes. Ours have nothing else to encode; what is listed may.
pub(super) fn encode_path(key: &str) -> String {
    encode(key).replace("%2F", "/")
}

#[cfg(test)]
mod tests;
