//! Does the beginning of a file fit the media type that was declared?
//!
//! A comparison of first bytes, no parser: it tells one form from another and believes nothing
//! else. Bytes of the right form that are broken further on are the probe's to refuse, so a
//! beginning that cannot be read to its end fits.

use crate::file::MediaType;

mod ebml;
mod iso;

#[cfg(test)]
mod tests;

/// So many bytes of a file, or all of a shorter one, are looked at.
pub const SNIFFED_BYTES: usize = 4096;

/// How far into a file readers of PDF look for its header.
const PDF_HEADER_WITHIN: usize = 1024;

/// `first` is the first [`SNIFFED_BYTES`] of the file, or the whole of a shorter one.
pub fn fits(media_type: MediaType, first: &[u8]) -> bool {
    match media_type {
        MediaType::Jpeg => first.starts_with(b"\xff\xd8\xff"),
        MediaType::Png => first.starts_with(b"\x89PNG\r\n\x1a\n"),
        MediaType::Gif => is_gif(first),
        MediaType::Webp => is_webp(first),
        MediaType::Pdf => is_pdf(first),
        MediaType::Text | MediaType::Csv | MediaType::Markdown => is_text(first),
        MediaType::Mp4 => iso::is_mp4(first),
        // Its mark, read as a length, is one that an old QuickTime file can have.
        MediaType::QuickTime => iso::is_quicktime(first) && !ebml::is(first),
        MediaType::Webm => ebml::is_of(first, b"webm"),
        MediaType::Matroska => ebml::is_of(first, b"matroska"),
    }
}

fn is_gif(first: &[u8]) -> bool {
    first.starts_with(b"GIF87a") || first.starts_with(b"GIF89a")
}

fn is_webp(first: &[u8]) -> bool {
    first.starts_with(b"RIFF") && first.get(8..12) == Some(b"WEBP")
}

/// Some readers find the header behind anything in the first KB, so that a file can be a picture
/// for one and a document for another. We let only a byte order mark and white space stand before
/// it: they are what careless writers leave there, and no other form begins with them.
fn is_pdf(first: &[u8]) -> bool {
    let near = first.get(..PDF_HEADER_WITHIN).unwrap_or(first);
    let near = near.strip_prefix(b"\xef\xbb\xbf").unwrap_or(near);
    near.trim_ascii_start().starts_with(b"%PDF-")
}

/// Text has no mark of its own: it is what has no other's, and no NUL. The NUL keeps out what has
/// lengths in it, such as QuickTime; the probe sees to UTF-8.
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
        && !other.iter().any(|form| fits(*form, looked_at))
        && !ebml::is(looked_at)
}
