//! Signatures of thoughts. Their provider verifies them when they come back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::digest::hex_digits;

/// What Gemini's signature of a part covers that is no function call.
pub const TEXT_PART: &str = "text";

const NONCE_DIGITS: usize = 13;
const MAC_DIGITS: usize = 32;

/// Signs a content. `occasion` makes signatures of equal contents differ.
pub fn sign(occasion: &str, content: &str) -> String {
    let nonce = hex_digits(&["nonce", occasion], NONCE_DIGITS);
    let mac = hex_digits(&["signature", &nonce, content], MAC_DIGITS);
    STANDARD.encode(format!("{nonce}{mac}"))
}

/// Whether [`sign`] made the signature for this content.
pub fn is_valid(signature: &str, content: &str) -> bool {
    let decoded = STANDARD.decode(signature).ok();
    let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
    let Some((nonce, mac)) = decoded
        .as_deref()
        .and_then(|it| it.split_at_checked(NONCE_DIGITS))
    else {
        return false;
    };
    mac == hex_digits(&["signature", nonce, content], MAC_DIGITS)
}
