//! SHA-256, and how it is written in headers and bodies.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{Context, SHA256};

/// The digest of these bytes, in hex.
pub fn hex_of(bytes: &[u8]) -> String {
    let mut digest = Digest::new();
    digest.update(bytes);
    digest.hex()
}

/// The same in base64, as part checksums are written.
pub fn base64_of(bytes: &[u8]) -> String {
    let mut context = Context::new(&SHA256);
    context.update(bytes);
    STANDARD.encode(context.finish())
}

/// A digest of bytes that come one after the other.
pub struct Digest {
    context: Context,
    pub length: u64,
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Digest of {} bytes so far", self.length)
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

impl Digest {
    pub fn new() -> Self {
        Self {
            context: Context::new(&SHA256),
            length: 0,
        }
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
        self.length += u64::try_from(bytes.len()).unwrap_or_default();
    }

    pub fn hex(self) -> String {
        hex::encode(self.context.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_written_as_headers_want_it() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hex_of(b""), empty);
        assert_eq!(
            base64_of(b""),
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
    }
}
