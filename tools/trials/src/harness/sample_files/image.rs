//! Images of a few pixels.

use crate::harness::sample_files::{decode_hex, length_u32, unique_hex};

/// One row of noise, stored without compression.
pub fn png() -> Vec<u8> {
    // 16 by 1 pixels of eight bits, RGB, default methods.
    let header = png_chunk(b"IHDR", b"\0\0\0\x10\0\0\0\x01\x08\x02\0\0\0");
    let row = [[0_u8].as_slice(), &rand::random::<[u8; 48]>()].concat();
    let pixels = png_chunk(b"IDAT", &zlib_stored(&row));
    let end = png_chunk(b"IEND", b"");
    [b"\x89PNG\r\n\x1a\n".as_slice(), &header, &pixels, &end].concat()
}

fn png_chunk(name: &[u8], body: &[u8]) -> Vec<u8> {
    let named = [name, body].concat();
    let (length, sum) = (length_u32(body).to_be_bytes(), crc32(&named).to_be_bytes());
    [&length, named.as_slice(), &sum].concat()
}

/// zlib with one uncompressed block of less than 64 KB.
fn zlib_stored(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    let head = [
        b"\x78\x01\x01".as_slice(),
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
    ];
    let sum: u32 = high << 16 | low;
    [head.concat().as_slice(), bytes, &sum.to_be_bytes()].concat()
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
    // The header ends with a comment of 32 bytes.
    let head = decode_hex("ffd8ffe000104a46494600010100000100010000fffe0022");
    let rest = decode_hex(concat!(
        "ffdb00430050373c463c32504641465a55505f78c882786e6e78f5afb991c8ff",
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "ffffffffffffc0000b080001000101011100ffc4001400010000000000000000",
        "0000000000000000ffc40014100100000000000000000000000000000000ffda",
        "0008010100003f003fffd9"
    ));
    [head, unique_hex().into_bytes(), rest].concat()
}

pub fn gif() -> Vec<u8> {
    // The header ends with a comment of 32 bytes.
    let head = decode_hex("47494638396101000100800000000000ffffff21fe20");
    let rest = decode_hex("002c00000000010001000002024401003b");
    [head, unique_hex().into_bytes(), rest].concat()
}

pub fn webp() -> Vec<u8> {
    // An extended header that announces XMP.
    let header = riff_chunk(b"VP8X", &[4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let pixel = riff_chunk(b"VP8L", &decode_hex("2f00000000071011fd0f4444ff03"));
    let text = riff_chunk(b"XMP ", unique_hex().as_bytes());
    riff_chunk(
        b"RIFF",
        &[b"WEBP".as_slice(), &header, &pixel, &text].concat(),
    )
}

/// For a body of an even length, which needs no padding.
fn riff_chunk(name: &[u8], body: &[u8]) -> Vec<u8> {
    [name, &length_u32(body).to_le_bytes(), body].concat()
}
