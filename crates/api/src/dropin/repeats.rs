//! Tells a repeated request from a new one. The SDKs retry a create without an idempotency key, but
//! they count their retries in a header.

use domain::time::Timestamp;
use http::{HeaderMap, HeaderName};
use sha2::{Digest as _, Sha256};
use store::shard::dropin::RepeatIdentity;

use crate::api_error::ApiError;

const RETRY_COUNT: HeaderName = HeaderName::from_static("x-stainless-retry-count");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const MAX_KEY_BYTES: usize = 255;

/// Reads the identity of a request, while its body arrives.
#[derive(Debug, Clone)]
pub(crate) struct RepeatReader {
    digest: Sha256,
    idempotency_key: Option<String>,
    is_retry: bool,
    started_at: Timestamp,
}

impl RepeatReader {
    pub(crate) fn new(headers: &HeaderMap, started_at: Timestamp) -> Result<Self, ApiError> {
        let count = headers.get(RETRY_COUNT).and_then(|it| it.to_str().ok());
        let count = count.and_then(|text| text.parse::<u32>().ok());
        let key = headers.get(IDEMPOTENCY_KEY).map(|value| {
            let text = value.to_str().ok().filter(|text| is_key(text));
            text.map(str::to_owned).ok_or_else(|| {
                let message = "Idempotency-Key: 1 to 255 visible ASCII characters are accepted";
                ApiError::validation_at(["header", "idempotency-key"], message)
            })
        });
        Ok(Self {
            digest: Sha256::new(),
            idempotency_key: key.transpose()?,
            is_retry: count.is_some_and(|count| count > 0),
            started_at,
        })
    }

    /// Adds the next bytes of the body.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
    }

    pub(crate) fn finish(self) -> RepeatIdentity {
        RepeatIdentity {
            body_digest: self.digest.finalize().into(),
            idempotency_key: self.idempotency_key,
            is_retry: self.is_retry,
            started_at: self.started_at,
        }
    }
}

fn is_key(text: &str) -> bool {
    (1..=MAX_KEY_BYTES).contains(&text.len())
        && text.bytes().all(|byte| (0x21..0x7f).contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[(&'static str, &'static str)]) -> Option<RepeatIdentity> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.insert(HeaderName::from_static(name), value.parse().unwrap());
        }
        let mut reader = RepeatReader::new(&headers, Timestamp::default()).ok()?;
        reader.push(b"{}");
        Some(reader.finish())
    }

    #[test]
    fn a_count_above_zero_is_a_retry() {
        let is_retry = |count| {
            read(&[("x-stainless-retry-count", count)])
                .unwrap()
                .is_retry
        };
        assert!(is_retry("1"));
        assert!(!is_retry("0"));
        assert!(!is_retry("many"));
        assert!(!read(&[]).unwrap().is_retry);
    }

    #[test]
    fn a_key_is_visible_ascii() {
        let key = read(&[("idempotency-key", "k-1")]).unwrap().idempotency_key;
        assert_eq!(key.as_deref(), Some("k-1"));
        assert_eq!(read(&[("idempotency-key", "a b")]), None);
        assert_eq!(read(&[("idempotency-key", "")]), None);
    }
}
