//! Images of a few pixels.

use crate::harness::sample_files::{decode_hex, length_u32, unique_hex};

/// One row of noise, stored without compression.
pub fn png() -> Vec<u8> {
    let mut header = Vec::new();
    header.extend_from_slice(&16u32.to_be_bytes());
    header.extend_from_slice(&1u32.to_be_bytes());
    // Eight bits, RGB, default methods.
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    let mut row = vec![0];
    row.extend((0..48).map(|_| rand::random::<u8>()));
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.extend(png_chunk(*b"IHDR", &header));
    bytes.extend(png_chunk(*b"IDAT", &zlib_stored(&row)));
    bytes.extend(png_chunk(*b"IEND", b""));
    bytes
}

fn png_chunk(name: [u8; 4], body: &[u8]) -> Vec<u8> {
    let named = [name.as_slice(), body].concat();
    let mut bytes = length_u32(body).to_be_bytes().to_vec();
    bytes.extend_from_slice(&named);
    bytes.extend_from_slice(&crc32(&named).to_be_bytes());
    bytes
}

/// zlib with one uncompressed block of less than 64 KB.
fn zlib_stored(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    let mut out = vec![0x78, 0x01, 0x01];
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(bytes);
    let (mut low, mut high) = (1u32, 0u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    out.extend_from_slice(&(high << 16 | low).to_be_bytes());
    out
}

pub fn crc32(bytes: &[u8]) -> u32 {
    let turn = |sum: u32| {
        if sum & 1 == 1 {
            sum >> 1 ^ 0xedb8_8320
        } else {
            sum >> 1
        }
    };
    !bytes.iter().fold(!0u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| turn(sum))
    })
}

pub fn jpeg() -> Vec<u8> {
    let comment = unique_hex();
    let mut bytes = decode_hex("ffd8ffe000104a46494600010100000100010000");
    bytes.extend_from_slice(&[0xff, 0xfe, 0, 34]);
    bytes.extend_from_slice(comment.as_bytes());
    bytes.extend(decode_hex(concat!(
        "ffdb00430050373c463c32504641465a55505f78c882786e6e78f5afb991c8ff",
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "ffffffffffffc0000b080001000101011100ffc4001400010000000000000000",
        "0000000000000000ffc40014100100000000000000000000000000000000ffda",
        "0008010100003f003fffd9"
    )));
    bytes
}

pub fn gif() -> Vec<u8> {
    let mut bytes = b"GIF89a".to_vec();
    bytes.extend(decode_hex("01000100800000000000ffffff"));
    // A comment of 32 bytes.
    bytes.extend_from_slice(&[0x21, 0xfe, 32]);
    bytes.extend_from_slice(unique_hex().as_bytes());
    bytes.push(0);
    bytes.extend(decode_hex("2c00000000010001000002024401003b"));
    bytes
}

pub fn webp() -> Vec<u8> {
    // An extended header that announces XMP.
    let mut body = b"WEBP".to_vec();
    body.extend(riff_chunk(*b"VP8X", &[4, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    body.extend(riff_chunk(
        *b"VP8L",
        &decode_hex("2f00000000071011fd0f4444ff03"),
    ));
    body.extend(riff_chunk(*b"XMP ", unique_hex().as_bytes()));
    riff_chunk(*b"RIFF", &body)
}

fn riff_chunk(name: [u8; 4], body: &[u8]) -> Vec<u8> {
    let mut bytes = name.to_vec();
    bytes.extend_from_slice(&length_u32(body).to_le_bytes());
    bytes.extend_from_slice(body);
    if !body.len().is_multiple_of(2) {
        bytes.push(0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_the_well_known_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
