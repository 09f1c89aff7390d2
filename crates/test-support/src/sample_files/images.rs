//! Images of a few pixels.

use super::building_blocks::{crc, hex, length};
use super::unique_text;

pub(crate) const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
pub(crate) const PNG_GREY: u8 = 0;
const PNG_RGB: u8 = 2;
/// The chunk with the single pixel of a WebP image.
pub(crate) const WEBP_PIXEL: &[u8] =
    b"VP8L\x0e\0\0\0\x2f\0\0\0\0\x07\x10\x11\xfd\x0f\x44\x44\xff\x03";

pub fn png() -> Vec<u8> {
    let row = || [vec![0], rand::random::<[u8; 12]>().to_vec()].concat();
    let pixels: Vec<u8> = (0..4).flat_map(|_| row()).collect();
    png_file([4, 4], PNG_RGB, b"", &zlib_stored(&pixels))
}

/// A PNG with extra chunks between its header and its pixels.
pub(crate) fn png_file(sides: [u32; 2], colour: u8, extra: &[u8], zlib: &[u8]) -> Vec<u8> {
    let sides = sides.map(u32::to_be_bytes).concat();
    let header = png_chunk(b"IHDR", &[sides.as_slice(), &[8, colour, 0, 0, 0]].concat());
    let (pixels, end) = (png_chunk(b"IDAT", zlib), png_chunk(b"IEND", b""));
    [PNG_SIGNATURE, &header, extra, &pixels, &end].concat()
}

pub(crate) fn png_chunk(kind: &[u8], body: &[u8]) -> Vec<u8> {
    let checked = [kind, body].concat();
    let (length, crc) = (length(body).to_be_bytes(), crc(&checked).to_be_bytes());
    [&length, checked.as_slice(), &crc].concat()
}

/// zlib with one uncompressed block of less than 64 KB.
fn zlib_stored(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    let adler = (high << 16 | low).to_be_bytes();
    let (size, inverse) = (length.to_le_bytes(), (!length).to_le_bytes());
    [b"\x78\x01\x01".as_slice(), &size, &inverse, bytes, &adler].concat()
}

pub fn jpeg() -> Vec<u8> {
    let comment = unique_text();
    let size = u16::try_from(comment.len() + 2).unwrap().to_be_bytes();
    let jfif = hex("ffe000104a46494600010100000100010000");
    let comment = [b"\xff\xfe".as_slice(), &size, comment.as_bytes()].concat();
    jpeg_file([1, 1], &[jfif, comment].concat())
}

/// A JPEG with extra segments at its start.
pub(crate) fn jpeg_file([width, height]: [u16; 2], extra: &[u8]) -> Vec<u8> {
    let quantization = [b"\xff\xdb\0\x43\0".as_slice(), &[1; 64]].concat();
    let sides = [height.to_be_bytes(), width.to_be_bytes()].concat();
    let frame = [b"\xff\xc0\0\x0b\x08", sides.as_slice(), b"\x01\x01\x11\0"].concat();
    let table = |class: u8| [&[0xff, 0xc4, 0, 0x14, class, 1], [0; 15].as_slice(), &[0]].concat();
    let scan = b"\xff\xda\0\x08\x01\x01\0\0\x3f\0\x3f\xff\xd9";
    [
        b"\xff\xd8".as_slice(),
        extra,
        &quantization,
        &frame,
        &table(0),
        &table(0x10),
        scan,
    ]
    .concat()
}

pub fn gif() -> Vec<u8> {
    let comment = unique_text();
    let size = u8::try_from(comment.len()).unwrap();
    gif_file(
        [1, 1],
        &[b"\x21\xfe".as_slice(), &[size], comment.as_bytes(), b"\0"].concat(),
    )
}

/// A GIF with extra blocks before its image.
pub(crate) fn gif_file(sides: [u16; 2], extra: &[u8]) -> Vec<u8> {
    let sides = sides.map(u16::to_le_bytes).concat();
    let colours = [0x80, 0, 0, 0, 0, 0, 255, 255, 255];
    let image = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0";
    [b"GIF89a", sides.as_slice(), &colours, extra, image, b"\x3b"].concat()
}

pub fn webp() -> Vec<u8> {
    let chunk = |name: &[u8], body: &[u8]| [name, &length(body).to_le_bytes(), body].concat();
    let chunks = [
        // An extended header that announces XMP.
        chunk(b"VP8X", &[4, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        WEBP_PIXEL.to_vec(),
        chunk(b"XMP ", unique_text().as_bytes()),
    ]
    .concat();
    webp_file(length(&chunks) + 4, &chunks)
}

/// A WebP with the given length, which may be wrong.
pub(crate) fn webp_file(length: u32, chunks: &[u8]) -> Vec<u8> {
    [b"RIFF", length.to_le_bytes().as_slice(), b"WEBP", chunks].concat()
}
