//! MP4 and QuickTime: one format, told apart by the brands that the file declares.

use crate::file::FileKind;
use crate::magic_bytes::SNIFFED_BYTES;

const BRAND_BYTES: usize = 4;
/// Length, type, major brand, minor version; compatible brands follow.
const FTYP_HEADER_BYTES: usize = 16;

/// Brands that MP4 players know, without those of images and audio (`heic`, `avif`, `M4A `).
const MP4_BRANDS: &[&[u8; BRAND_BYTES]] = &[
    b"isom", b"iso2", b"iso3", b"iso4", b"iso5", b"iso6", b"iso7", b"iso8", b"iso9", b"mp41",
    b"mp42", b"mp71", b"avc1", b"hvc1", b"hev1", b"av01", b"M4V ", b"M4VH", b"M4VP", b"MSNV",
    b"dash", b"cmfc", b"cmf2", b"msdh", b"msix", b"F4V ", b"f4v ", b"XAVC",
];
const QUICKTIME_BRANDS: &[&[u8; BRAND_BYTES]] = &[b"qt  "];

/// What a QuickTime file older than `ftyp` may begin with.
const LEGACY_QUICKTIME_ATOMS: &[&[u8; BRAND_BYTES]] =
    &[b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"];

pub(super) fn is_mp4(first: &[u8]) -> bool {
    has_brand(first, MP4_BRANDS)
}

pub(super) fn is_quicktime(first: &[u8]) -> bool {
    has_brand(first, QUICKTIME_BRANDS) || is_legacy_quicktime(first)
}

/// These atoms are also English words, so they count only after a length that a file can have.
fn is_legacy_quicktime(first: &[u8]) -> bool {
    u64::from(box_length(first)) <= FileKind::Video.max_bytes()
        && box_type(first).is_some_and(|kind| is_listed(kind, LEGACY_QUICKTIME_ATOMS))
}

/// Checks the major brand and the compatible ones: a file that declares MP4 is MP4.
///
/// No list of brands is longer than `SNIFFED_BYTES`. The first bytes of other formats, read as its
/// length, are.
fn has_brand(first: &[u8], brands: &[&[u8; BRAND_BYTES]]) -> bool {
    let end = usize::try_from(box_length(first)).unwrap_or(usize::MAX);
    if box_type(first) != Some(b"ftyp") || end > SNIFFED_BYTES {
        return false;
    }
    let major = first.get(8..8 + BRAND_BYTES);
    let compatible = first
        .get(FTYP_HEADER_BYTES..end.min(first.len()))
        .unwrap_or_default();
    major
        .into_iter()
        .chain(compatible.chunks_exact(BRAND_BYTES))
        .any(|brand| is_listed(brand, brands))
}

fn box_length(first: &[u8]) -> u32 {
    first.first_chunk().map_or(0, |it| u32::from_be_bytes(*it))
}

fn box_type(first: &[u8]) -> Option<&[u8]> {
    first.get(4..8)
}

fn is_listed(brand: &[u8], brands: &[&[u8; BRAND_BYTES]]) -> bool {
    brands.iter().any(|known| brand == known.as_slice())
}
