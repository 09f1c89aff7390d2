//! SHA-256 digests, in hex and base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{Context, SHA256};

pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut digest = StreamingSha256::default();
    digest.update(bytes);
    digest.finish_hex()
}

/// In base64, as in the checksums of parts.
pub fn sha256_base64(bytes: &[u8]) -> String {
    let mut context = Context::new(&SHA256);
    context.update(bytes);
    STANDARD.encode(context.finish())
}

/// A digest of bytes that arrive in chunks.
pub struct StreamingSha256 {
    context: Context,
    pub length: u64,
}

impl std::fmt::Debug for StreamingSha256 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SHA-256 of {} bytes so far", self.length)
    }
}

impl Default for StreamingSha256 {
    fn default() -> Self {
        Self {
            context: Context::new(&SHA256),
            length: 0,
        }
    }
}

impl StreamingSha256 {
    pub fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
        self.length += u64::try_from(bytes.len()).unwrap_or_default();
    }

    pub fn finish_hex(self) -> String {
        hex::encode(self.context.finish())
    }
}
