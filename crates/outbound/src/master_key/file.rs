//! Master keys in a file: one line for each, with its id and 32 bytes in base64. The first one wraps
//! new data keys.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::master_key::{MasterKeyFailure, MasterKeys, is_valid_id};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

/// Separates these values from any others that the same key may encrypt.
const PURPOSE: &[u8] = b"longshore data key v1";

/// `Debug` never shows a key.
#[derive(Debug)]
pub struct FileMasterKeys {
    first: MasterKey,
    others: Vec<MasterKey>,
}

#[derive(Debug)]
struct MasterKey {
    id: String,
    cipher: LessSafeKey,
}

/// Why a file of master keys is refused. It never contains a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MasterKeyFileFault {
    #[error(
        "it has no key; write a line such as `2026-01 KEY`, with a key of `openssl rand -base64 32`"
    )]
    Empty,
    #[error("line {0} is not an id and 32 bytes in base64, separated by a space")]
    InvalidLine(usize),
    #[error("line {0} repeats an id")]
    RepeatedId(usize),
}

impl FileMasterKeys {
    /// Blank lines and lines that begin with `#` are skipped.
    pub fn parse(text: &str) -> Result<Self, MasterKeyFileFault> {
        let mut keys: Vec<MasterKey> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let key = MasterKey::parse(line).ok_or(MasterKeyFileFault::InvalidLine(index + 1))?;
            if keys.iter().any(|known| known.id == key.id) {
                return Err(MasterKeyFileFault::RepeatedId(index + 1));
            }
            keys.push(key);
        }
        let mut keys = keys.into_iter();
        Ok(Self {
            first: keys.next().ok_or(MasterKeyFileFault::Empty)?,
            others: keys.collect(),
        })
    }

    fn find(&self, id: &str) -> Option<&MasterKey> {
        let mut keys = std::iter::once(&self.first).chain(&self.others);
        keys.find(|key| key.id == id)
    }
}

impl MasterKey {
    fn parse(line: &str) -> Option<Self> {
        let (id, key) = line.split_once(char::is_whitespace)?;
        let key = STANDARD.decode(key.trim()).ok()?;
        // The cipher takes 32 bytes only.
        let cipher = UnboundKey::new(&AES_256_GCM, &key).ok()?;
        is_valid_id(id).then(|| Self {
            id: id.to_owned(),
            cipher: LessSafeKey::new(cipher),
        })
    }

    /// A random nonce, then the ciphertext and its tag.
    fn wrap(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = rand::random();
        let mut text = plain.to_vec();
        let tag = self.cipher.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(PURPOSE),
            &mut text,
        );
        let tag = tag.ok()?;
        let parts: [&[u8]; 3] = [&nonce, &text, tag.as_ref()];
        Some(parts.concat())
    }

    fn unwrap(&self, wrapped: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = wrapped.split_first_chunk::<NONCE_LEN>()?;
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = self
            .cipher
            .open_in_place(nonce, Aad::from(PURPOSE), &mut text);
        Some(plain.ok()?.to_vec())
    }
}

#[async_trait]
impl MasterKeys for FileMasterKeys {
    fn current_id(&self) -> &str {
        &self.first.id
    }

    async fn wrap_key(&self, plain: &[u8]) -> Result<Vec<u8>, MasterKeyFailure> {
        let rejected = || MasterKeyFailure::Rejected(self.first.id.clone());
        self.first.wrap(plain).ok_or_else(rejected)
    }

    async fn unwrap_key(&self, id: &str, wrapped: &[u8]) -> Result<Vec<u8>, MasterKeyFailure> {
        let key = self.find(id);
        let key = key.ok_or_else(|| MasterKeyFailure::Unknown(id.to_owned()))?;
        let rejected = || MasterKeyFailure::Rejected(id.to_owned());
        key.unwrap(wrapped).ok_or_else(rejected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The bytes 0 to 31, and 32 zeros.
    const FIRST: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const SECOND: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

    fn keys(lines: &[(&str, &str)]) -> FileMasterKeys {
        let lines = lines.iter().map(|(id, key)| format!("{id}  {key}\n"));
        FileMasterKeys::parse(&lines.collect::<String>()).unwrap()
    }

    #[tokio::test]
    async fn the_first_key_wraps_and_every_key_unwraps() {
        let old = keys(&[("2025", FIRST)]);
        let new = keys(&[("2026", SECOND), ("2025", FIRST)]);
        let wrapped = old.wrap_key(b"a data key").await.unwrap();
        assert!(!wrapped.windows(4).any(|it| it == b"data"));
        assert_ne!(wrapped, old.wrap_key(b"a data key").await.unwrap());
        let plain = new.unwrap_key("2025", &wrapped).await;
        assert_eq!(plain, Ok(b"a data key".to_vec()));
        assert_eq!(new.current_id(), "2026");
        let wrapped = new.wrap_key(b"a data key").await.unwrap();
        let unknown = old.unwrap_key("2026", &wrapped).await;
        assert_eq!(unknown, Err(MasterKeyFailure::Unknown("2026".to_owned())));
        let wrong = new.unwrap_key("2025", &wrapped).await;
        assert_eq!(wrong, Err(MasterKeyFailure::Rejected("2025".to_owned())));
        let short = new.unwrap_key("2025", b"short").await;
        assert_eq!(short, Err(MasterKeyFailure::Rejected("2025".to_owned())));
    }

    #[test]
    fn a_file_with_a_fault_is_refused_without_a_key_in_the_text() {
        let comment = format!("# keys\n\n2026 {FIRST}\n");
        assert!(FileMasterKeys::parse(&comment).is_ok());
        let table = [
            (String::new(), MasterKeyFileFault::Empty),
            (
                format!("2026 {FIRST}\n2025"),
                MasterKeyFileFault::InvalidLine(2),
            ),
            ("2026 AAAA".to_owned(), MasterKeyFileFault::InvalidLine(1)),
            (format!("--x {FIRST}"), MasterKeyFileFault::InvalidLine(1)),
            (
                format!("2026 {FIRST}\n2026 {SECOND}"),
                MasterKeyFileFault::RepeatedId(2),
            ),
        ];
        for (text, fault) in table {
            let refused = FileMasterKeys::parse(&text).unwrap_err();
            assert_eq!(refused, fault);
        }
        let shown = format!("{:?}", keys(&[("2026", FIRST)]));
        assert!(!shown.contains("AAEC") && !shown.contains("31"));
    }
}
