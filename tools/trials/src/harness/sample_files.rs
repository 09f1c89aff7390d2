//! Small valid files of every media type; every call makes different bytes.

pub mod generated_video;
pub mod image;
pub mod pdf;
pub mod upload_content;
pub mod video;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::harness::sha256;

/// Bytes and their declared media type.
#[derive(Debug, Clone)]
pub struct SampleFile {
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

type FileGenerator = fn() -> Vec<u8>;

/// A generator for each media type that the service accepts.
pub const GENERATORS: [(&str, FileGenerator); 12] = [
    ("image/jpeg", image::jpeg),
    ("image/png", image::png),
    ("image/gif", image::gif),
    ("image/webp", image::webp),
    ("application/pdf", pdf::one_page),
    ("text/plain", unique_text),
    ("text/csv", csv),
    ("text/markdown", markdown),
    ("video/mp4", video::mp4),
    ("video/quicktime", video::quicktime),
    ("video/webm", video::webm),
    ("video/x-matroska", video::matroska),
];

impl SampleFile {
    /// The next media type for each turn.
    pub fn nth(turn: usize) -> Self {
        let place = turn % GENERATORS.len();
        let (media_type, make) = GENERATORS
            .get(place)
            .copied()
            .unwrap_or(("text/plain", unique_text));
        Self {
            media_type,
            bytes: make(),
        }
    }

    pub fn from_text(bytes: Vec<u8>) -> Self {
        Self {
            media_type: "text/plain",
            bytes,
        }
    }

    pub fn sha256(&self) -> String {
        sha256::sha256_hex(&self.bytes)
    }
}

/// 32 random digits.
pub fn unique_hex() -> String {
    format!("{:032x}", rand::random::<u128>())
}

pub fn unique_text() -> Vec<u8> {
    format!("Manifest {}\n", unique_hex()).into_bytes()
}

/// Text of exactly this size.
pub fn long_text(size: usize) -> Vec<u8> {
    let line = b"one crate of oranges, one crate of lemons\n";
    let mut bytes = unique_text();
    while bytes.len() < size {
        bytes.extend_from_slice(line);
    }
    bytes.truncate(size);
    bytes
}

fn csv() -> Vec<u8> {
    format!("crate,weight\n{},12\n", unique_hex()).into_bytes()
}

fn markdown() -> Vec<u8> {
    format!("# Manifest\n\n- {}\n", unique_hex()).into_bytes()
}

/// Decodes a hex literal.
fn decode_hex(digits: &str) -> Vec<u8> {
    hex::decode(digits).unwrap_or_default()
}

/// Decodes a base64 literal.
fn decode_base64(text: &str) -> Vec<u8> {
    STANDARD.decode(text).unwrap_or_default()
}

fn length_u32(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_another() {
        for (media_type, make) in GENERATORS {
            assert_ne!(make(), make(), "{media_type}");
        }
        assert_eq!(long_text(100_000).len(), 100_000);
    }

    #[test]
    fn literals_in_the_code_are_valid() {
        assert!(image::gif().starts_with(b"GIF89a\x01\0\x01\0"));
        assert!(image::jpeg().ends_with(&[0xff, 0xd9]));
        assert!(video::mp4().windows(4).any(|name| name == b"avcC"));
        assert_eq!((video::mp4().len(), video::quicktime().len()), (701, 689));
        assert_eq!((video::webm().len(), video::matroska().len()), (364, 368));
    }
}
