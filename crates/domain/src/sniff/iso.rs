//! MP4 and QuickTime: one form, told apart by the brands that the file says it keeps to.

use crate::file::Kind;
use crate::sniff::SNIFFED_BYTES;

const BRAND: usize = 4;
/// Length, type, major brand, minor version; compatible brands follow.
const HEAD: usize = 16;

/// What players of MP4 know. Images and sound alone (`heic`, `avif`, `M4A `) are not among them.
const MP4: &[&[u8; BRAND]] = &[
    b"isom", b"iso2", b"iso3", b"iso4", b"iso5", b"iso6", b"iso7", b"iso8", b"iso9", b"mp41",
    b"mp42", b"mp71", b"avc1", b"hvc1", b"hev1", b"av01", b"M4V ", b"M4VH", b"M4VP", b"MSNV",
    b"dash", b"cmfc", b"cmf2", b"msdh", b"msix", b"F4V ", b"f4v ", b"XAVC",
];
const QUICKTIME: &[&[u8; BRAND]] = &[b"qt  "];

/// What a QuickTime file from before `ftyp` may begin with.
const FIRST_ATOMS: &[&[u8; BRAND]] = &[b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"];

pub(super) fn is_mp4(first: &[u8]) -> bool {
    keeps_to(first, MP4)
}

pub(super) fn is_quicktime(first: &[u8]) -> bool {
    keeps_to(first, QUICKTIME) || is_old_quicktime(first)
}

/// Words of English, too: they count only behind a length that a file can have.
fn is_old_quicktime(first: &[u8]) -> bool {
    u64::from(length(first)) <= Kind::Video.most_bytes()
        && kind(first).is_some_and(|kind| is_one(kind, FIRST_ATOMS))
}

/// The major brand or a compatible one: a file that says it can be read as MP4 is MP4.
///
/// No list of brands is longer than what we look at; the first bytes of other forms, read as its
/// length, are.
fn keeps_to(first: &[u8], brands: &[&[u8; BRAND]]) -> bool {
    let end = usize::try_from(length(first)).unwrap_or(usize::MAX);
    if kind(first) != Some(b"ftyp") || end > SNIFFED_BYTES {
        return false;
    }
    let major = first.get(8..8 + BRAND);
    let compatible = first.get(HEAD..end.min(first.len())).unwrap_or_default();
    major
        .into_iter()
        .chain(compatible.chunks_exact(BRAND))
        .any(|brand| is_one(brand, brands))
}

fn length(first: &[u8]) -> u32 {
    first.first_chunk().map_or(0, |it| u32::from_be_bytes(*it))
}

fn kind(first: &[u8]) -> Option<&[u8]> {
    first.get(4..8)
}

fn is_one(brand: &[u8], brands: &[&[u8; BRAND]]) -> bool {
    brands.iter().any(|known| brand == known.as_slice())
}
