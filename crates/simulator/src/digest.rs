//! Hex digits that follow from words.

use sha2::{Digest as _, Sha256};

/// `count` hex digits derived from the words.
pub fn hex_digits(words: &[&str], count: usize) -> String {
    let mut digest = Sha256::new();
    for word in words {
        digest.update(word.as_bytes());
        digest.update(b"\0");
    }
    let all = hex::encode(digest.finalize());
    all.get(..count).unwrap_or(&all).to_owned()
}
