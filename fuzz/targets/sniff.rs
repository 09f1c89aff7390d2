//! Magic bytes: the first bytes of a file match at most one format, and nothing panics.
#![no_main]

use domain::file::MediaType;
use domain::magic_bytes::matches_media_type;
use libfuzzer_sys::fuzz_target;

/// No first bytes match more than one of these.
const EXCLUSIVE_TYPES: [MediaType; 8] = [
    MediaType::Jpeg,
    MediaType::Png,
    MediaType::Gif,
    MediaType::Webp,
    MediaType::Pdf,
    MediaType::Text,
    MediaType::Mp4,
    MediaType::Webm,
];

fuzz_target!(|bytes: &[u8]| {
    let matching: Vec<_> = EXCLUSIVE_TYPES
        .iter()
        .filter(|it| matches_media_type(**it, bytes))
        .collect();
    assert!(matching.len() <= 1, "{matching:?}");
    for media_type in MediaType::ALL {
        matches_media_type(*media_type, bytes);
    }
});
