//! PDF documents of one page, with or without an attachment.

use std::fmt::Write as _;

use crate::harness::sample_files::image::crc32;
use crate::harness::sample_files::{length_u32, unique_hex};

pub fn one_page() -> Vec<u8> {
    build_document(&page_objects(""))
}

/// A page with an attached zip that contains these ASCII bytes, compressed.
pub fn with_zip_attachment(bytes: &[u8]) -> Vec<u8> {
    let zip = build_zip(bytes);
    let mut objects = page_objects("/Names << /EmbeddedFiles << /Names [(crate.zip) 4 0 R] >> >>");
    let name = "<< /Type /Filespec /F (crate.zip) /EF << /F 5 0 R >> >>";
    objects.push(name.as_bytes().to_vec());
    let mut stream = format!("<< /Type /EmbeddedFile /Length {} >>\nstream\n", zip.len());
    stream.reserve(zip.len());
    let mut stream = stream.into_bytes();
    stream.extend(zip);
    stream.extend_from_slice(b"\nendstream");
    objects.push(stream);
    build_document(&objects)
}

fn page_objects(more: &str) -> Vec<Vec<u8>> {
    let catalog = format!("<< /Type /Catalog /Pages 2 0 R {more} >>");
    let pages = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned();
    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Resources << >> >>";
    [catalog, pages, page.to_owned()]
        .map(String::into_bytes)
        .to_vec()
}

fn build_document(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("%PDF-1.4\n%{}\n", unique_hex()).into_bytes();
    let mut offsets = String::from("0000000000 65535 f \n");
    for (place, object) in objects.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(offsets, "{:010} 00000 n ", bytes.len());
        bytes.extend_from_slice(format!("{} 0 obj\n", place + 1).as_bytes());
        bytes.extend_from_slice(object);
        bytes.extend_from_slice(b"\nendobj\n");
    }
    let (table, count) = (bytes.len(), objects.len() + 1);
    let end = format!(
        "xref\n0 {count}\n{offsets}trailer\n<< /Size {count} /Root 1 0 R >>\n\
         startxref\n{table}\n%%EOF\n"
    );
    bytes.extend_from_slice(end.as_bytes());
    bytes
}

/// An archive of one compressed file.
fn build_zip(bytes: &[u8]) -> Vec<u8> {
    let name = b"crate.txt";
    let packed = deflate(bytes);
    let mut entry = Vec::new();
    // Version, flags, method, time, date.
    for word in [20u16, 0, 8, 0, 0x21] {
        entry.extend_from_slice(&word.to_le_bytes());
    }
    for word in [crc32(bytes), length_u32(&packed), length_u32(bytes)] {
        entry.extend_from_slice(&word.to_le_bytes());
    }
    entry.extend_from_slice(&[9, 0, 0, 0]);
    let mut out = b"PK\x03\x04".to_vec();
    out.extend_from_slice(&entry);
    out.extend_from_slice(name);
    out.extend_from_slice(&packed);
    let directory = length_u32(&out);
    out.extend_from_slice(b"PK\x01\x02\x14\0");
    out.extend_from_slice(&entry);
    // No comment, first disk, no attributes, offset zero.
    out.extend_from_slice(&[0; 14]);
    out.extend_from_slice(name);
    let length = length_u32(&out) - directory;
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&directory.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out
}

/// One block of deflate with the fixed code: each ASCII byte is `0x30` more, high bit first.
fn deflate(bytes: &[u8]) -> Vec<u8> {
    // The last block, fixed code; low bit first.
    let mut bits = vec![1, 1, 0];
    for byte in bytes {
        let code = byte + 0x30;
        bits.extend((0..8).rev().map(|place| code >> place & 1));
    }
    bits.extend([0; 7]);
    let packed = bits.chunks(8).map(|chunk| {
        let places = chunk.iter().enumerate();
        places.fold(0, |byte, (place, bit)| byte | bit << place)
    });
    packed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_zipped_cannot_be_seen() {
        let document = with_zip_attachment(b"needle in a haystack");
        assert!(!document.windows(6).any(|window| window == b"needle"));
        assert_eq!(deflate(b"a"), [0x4b, 0x04, 0x00]);
    }
}
