//! Small valid files of every media type; no two calls make the same bytes.

pub mod content;
pub mod image;
pub mod movie;
pub mod pdf;
pub mod video;

use crate::digest;

/// Bytes, and what they are said to be.
#[derive(Debug, Clone)]
pub struct Sample {
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

type Maker = fn() -> Vec<u8>;

/// The allowlist.
pub const MAKERS: [(&str, Maker); 12] = [
    ("image/jpeg", image::jpeg),
    ("image/png", image::png),
    ("image/gif", image::gif),
    ("image/webp", image::webp),
    ("application/pdf", pdf::pdf),
    ("text/plain", text),
    ("text/csv", csv),
    ("text/markdown", markdown),
    ("video/mp4", video::mp4),
    ("video/quicktime", video::quicktime),
    ("video/webm", video::webm),
    ("video/x-matroska", video::matroska),
];

impl Sample {
    /// One of each media type in turn.
    pub fn of_turn(turn: usize) -> Self {
        let place = turn % MAKERS.len();
        let (media_type, make) = MAKERS.get(place).copied().unwrap_or(("text/plain", text));
        Self {
            media_type,
            bytes: make(),
        }
    }

    pub fn text(bytes: Vec<u8>) -> Self {
        Self {
            media_type: "text/plain",
            bytes,
        }
    }

    pub fn sha256(&self) -> String {
        digest::hex_of(&self.bytes)
    }
}

/// 32 digits that no other call gives.
pub fn unique() -> String {
    format!("{:032x}", rand::random::<u128>())
}

pub fn text() -> Vec<u8> {
    format!("Manifest {}\n", unique()).into_bytes()
}

/// Text of exactly this size.
pub fn long_text(size: usize) -> Vec<u8> {
    let line = b"one crate of oranges, one crate of lemons\n";
    let mut bytes = text();
    while bytes.len() < size {
        bytes.extend_from_slice(line);
    }
    bytes.truncate(size);
    bytes
}

fn csv() -> Vec<u8> {
    format!("crate,weight\n{},12\n", unique()).into_bytes()
}

fn markdown() -> Vec<u8> {
    format!("# Manifest\n\n- {}\n", unique()).into_bytes()
}

/// Bytes from hex that stands in the code.
fn from_hex(digits: &str) -> Vec<u8> {
    hex::decode(digits).unwrap_or_default()
}

fn length_of(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_another() {
        for (media_type, make) in MAKERS {
            assert_ne!(make(), make(), "{media_type}");
        }
        assert_eq!(long_text(100_000).len(), 100_000);
    }

    #[test]
    fn hex_in_the_code_is_hex() {
        assert!(image::gif().starts_with(b"GIF89a\x01\0\x01\0"));
        assert!(image::jpeg().ends_with(&[0xff, 0xd9]));
        assert!(video::mp4().windows(4).any(|name| name == b"avcC"));
        assert!(video::webm().starts_with(&[0x1a, 0x45, 0xdf, 0xa3]));
    }
}
