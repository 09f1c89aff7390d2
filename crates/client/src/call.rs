//! A request to the API, with what the retry rule must know about it.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use rand::RngExt as _;
use serde_json::Value;

use crate::canonical_json;

const CALL_TIMEOUT: Duration = Duration::from_mins(1);
/// The service may wait so much longer than the request says.
const WAIT_MARGIN: Duration = Duration::from_secs(30);
const KEY_CHARACTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuv";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiCall {
    pub method: Method,
    /// With its query.
    pub path: String,
    pub body: Bytes,
    pub content_type: Option<&'static str>,
    pub idempotency_key: Option<String>,
    /// A repeat changes nothing, by the nature of the route or of its items.
    pub is_idempotent: bool,
    pub timeout: Duration,
}

impl ApiCall {
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path, Bytes::new(), None)
    }

    pub fn post(path: impl Into<String>, body: &Value) -> Self {
        let body = canonical_json::to_bytes(body);
        Self::new(Method::POST, path, body, Some("application/json"))
    }

    /// Lines of JSON, already written.
    pub fn post_lines(path: impl Into<String>, lines: Bytes) -> Self {
        Self::new(Method::POST, path, lines, Some("application/x-ndjson"))
    }

    fn new(
        method: Method,
        path: impl Into<String>,
        body: Bytes,
        content_type: Option<&'static str>,
    ) -> Self {
        Self {
            method,
            path: path.into(),
            body,
            content_type,
            idempotency_key: None,
            is_idempotent: false,
            timeout: CALL_TIMEOUT,
        }
    }

    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    #[must_use]
    pub fn with_key(mut self, key: String) -> Self {
        self.idempotency_key = Some(key);
        self
    }

    /// The service waits up to so many seconds before it answers.
    #[must_use]
    pub fn waiting(mut self, seconds: u32) -> Self {
        self.timeout = Duration::from_secs(u64::from(seconds)).saturating_add(WAIT_MARGIN);
        self
    }
}

/// An idempotency key that no other request has.
pub fn random_key() -> String {
    let bytes: [u8; 26] = rand::rng().random();
    let character = |byte: u8| {
        let place = usize::from(byte) % KEY_CHARACTERS.len();
        KEY_CHARACTERS.get(place).copied().map_or('0', char::from)
    };
    bytes.into_iter().map(character).collect()
}

/// A query string without the pairs that have no value.
pub fn query(pairs: &[(&str, Option<String>)]) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        if let Some(value) = value {
            text.push(if text.is_empty() { '?' } else { '&' });
            text.push_str(name);
            text.push('=');
            text.push_str(&encode(value));
        }
    }
    text
}

/// Percent-encodes everything but the unreserved characters of RFC 3986.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            for digit in [byte >> 4, byte & 0xf] {
                let digit = char::from_digit(u32::from(digit), 16).unwrap_or('0');
                encoded.push(digit.to_ascii_uppercase());
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_only_what_is_given() {
        let pairs = [("a", Some("x y+é".to_owned())), ("b", None)];
        assert_eq!(query(&pairs), "?a=x%20y%2B%C3%A9");
        assert_eq!(query(&[("b", None)]), "");
    }

    #[test]
    fn keys_differ() {
        assert_ne!(random_key(), random_key());
        assert_eq!(random_key().len(), 26);
    }
}
