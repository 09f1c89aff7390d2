//! What a browser or a link holds to prove itself: 32 random bytes, of which we keep a digest.

use std::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};

use crate::api_key::Digest;

/// It is given once, and `Debug` never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    pub fn of(random: [u8; 32]) -> Self {
        Self(hex(&random))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (text.len() == 64 && is_hex).then(|| Self(text.to_owned()))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn digest(&self) -> Digest {
        Digest(Sha256::digest(self.0.as_bytes()).into())
    }

    /// Proves that a form was made for whoever holds this; says nothing about it.
    pub fn seal(&self) -> String {
        self.derived("form")
    }

    /// What only the holder could know, another for each purpose; says nothing about the token.
    pub fn derived(&self, purpose: &str) -> String {
        let derived = Sha256::digest(format!("{purpose} {}", self.0).as_bytes());
        hex(&derived)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // A string takes whatever it is given.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let token = Token::of([7; 32]);
        assert_eq!(Token::parse(token.reveal()), Some(token.clone()));
        assert_ne!(token.seal(), Token::of([8; 32]).seal());
        assert_eq!(format!("{token:?}"), "Token(…)");
        for bad in ["", "07", &"G".repeat(64), &"A".repeat(64), &"0".repeat(65)] {
            assert_eq!(Token::parse(bad), None, "{bad}");
        }
    }
}
