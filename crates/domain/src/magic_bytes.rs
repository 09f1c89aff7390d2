//! Magic bytes: whether the first bytes of a file match its declared media type.
//!
//! This compares first bytes and parses nothing, so it only tells formats apart. The probe refuses
//! files that are malformed further on. So a beginning that cannot be read to its end matches.

use crate::file::MediaType;

mod ebml;
mod mp4;

#[cfg(test)]
mod tests;

/// How many bytes of a file are examined. A shorter file is examined whole.
pub const SNIFFED_BYTES: usize = 4096;

/// How far into a file PDF readers look for the header.
const PDF_HEADER_WINDOW_BYTES: usize = 1024;

/// `first` is the first [`SNIFFED_BYTES`] of the file, or all of a shorter one.
pub fn matches_media_type(media_type: MediaType, first: &[u8]) -> bool {
    match media_type {
        MediaType::Jpeg => first.starts_with(b"\xff\xd8\xff"),
        MediaType::Png => first.starts_with(b"\x89PNG\r\n\x1a\n"),
        MediaType::Gif => is_gif(first),
        MediaType::Webp => is_webp(first),
        MediaType::Pdf => is_pdf(first),
        MediaType::Text | MediaType::Csv | MediaType::Markdown => is_text(first),
        MediaType::Mp4 => mp4::is_mp4(first),
        // The EBML magic, read as a length, is one that a legacy QuickTime file can have.
        MediaType::QuickTime => mp4::is_quicktime(first) && !ebml::is_ebml(first),
        MediaType::Webm => ebml::has_doctype(first, b"webm"),
        MediaType::Matroska => ebml::has_doctype(first, b"matroska"),
    }
}

fn is_gif(first: &[u8]) -> bool {
    first.starts_with(b"GIF87a") || first.starts_with(b"GIF89a")
}

fn is_webp(first: &[u8]) -> bool {
    first.starts_with(b"RIFF") && first.get(8..12) == Some(b"WEBP")
}

/// Some readers find the header after any bytes in the first KB, so one file can be an image for
/// one reader and a document for another. Here only a byte order mark and white space may precede
/// it: careless writers leave them there, and no other format begins with them.
fn is_pdf(first: &[u8]) -> bool {
    let near = first.get(..PDF_HEADER_WINDOW_BYTES).unwrap_or(first);
    let near = near.strip_prefix(b"\xef\xbb\xbf").unwrap_or(near);
    near.trim_ascii_start().starts_with(b"%PDF-")
}

/// Text has no magic bytes: it matches no other format and contains no NUL. The NUL check excludes
/// formats with binary lengths, such as QuickTime. The probe checks UTF-8.
fn is_text(first: &[u8]) -> bool {
    let looked_at = first.get(..SNIFFED_BYTES).unwrap_or(first);
    let other = [
        MediaType::Jpeg,
        MediaType::Png,
        MediaType::Gif,
        MediaType::Webp,
        MediaType::Pdf,
        MediaType::Mp4,
    ];
    !looked_at.contains(&0)
        && !other
            .iter()
            .any(|form| matches_media_type(*form, looked_at))
        && !ebml::is_ebml(looked_at)
}
