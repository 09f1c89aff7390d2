//! Whole files, of the media type that the first byte names: they end as a flaw or as something
//! that the parent believes, and never as a panic.
#![no_main]

use domain::file::MediaType;
use domain::probe::{hear, say};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, file)) = bytes.split_first() else {
        return;
    };
    let all = MediaType::ALL;
    let media_type = all[usize::from(*first) % all.len()];
    let found = probe::read_unguarded(media_type, file);
    assert_eq!(hear(media_type, &say(found)), Some(found));
});
