//! Master keys, which wrap the data keys of projects. They are never in a database: a file has
//! them, or a command that calls a key management service (KMS).

use std::fmt;

use async_trait::async_trait;

/// An id is at most this long.
const MAX_ID_CHARS: usize = 200;

/// Wraps and unwraps data keys.
#[async_trait]
pub trait MasterKeys: fmt::Debug + Send + Sync {
    /// The id of the master key that wraps new data keys.
    fn current_id(&self) -> &str;

    /// Wraps with the current master key.
    async fn wrap_key(&self, plain: &[u8]) -> Result<Vec<u8>, MasterKeyFailure>;

    async fn unwrap_key(&self, id: &str, wrapped: &[u8]) -> Result<Vec<u8>, MasterKeyFailure>;
}

/// The texts are for operators and never contain a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MasterKeyFailure {
    #[error("the master key {0} is not in SVC_MASTER_KEY_FILE")]
    Unknown(String),
    #[error("the master key {0} did not wrap this data key, or the wrapped key was changed")]
    Rejected(String),
    /// A retry may succeed.
    #[error("SVC_MASTER_KEY_COMMAND failed: {0}")]
    Unavailable(String),
}

/// Whether a text can be the id of a master key: it is an argument of a command and a word in a
/// file.
pub fn is_valid_id(id: &str) -> bool {
    let is_visible = |byte: u8| byte.is_ascii_graphic();
    (1..=MAX_ID_CHARS).contains(&id.len())
        && id.bytes().all(is_visible)
        && !id.starts_with(['-', '#'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_visible_word_and_no_option() {
        for id in [
            "2026-01",
            "arn:aws:kms:eu-west-1:1:key/2a",
            &"k".repeat(200),
        ] {
            assert!(is_valid_id(id), "{id}");
        }
        for id in ["", "a b", "--help", "# comment", "é", &"k".repeat(201)] {
            assert!(!is_valid_id(id), "{id}");
        }
    }
}
