//! First bytes of files: no form is two, and nothing panics.
#![no_main]

use domain::file::MediaType;
use domain::sniff::fits;
use libfuzzer_sys::fuzz_target;

/// No beginning fits more than one of these.
const APART: [MediaType; 8] = [
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
    let fitting: Vec<_> = APART.iter().filter(|it| fits(**it, bytes)).collect();
    assert!(fitting.len() <= 1, "{fitting:?}");
    for media_type in MediaType::ALL {
        fits(*media_type, bytes);
    }
});
