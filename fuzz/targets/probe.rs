//! Whole files, with the media type in the first byte: probing ends with a failure reason or a
//! structure that the parent process accepts, and never with a panic.
#![no_main]

use domain::file::MediaType;
use domain::probe_protocol::{decode_result, encode_result};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, file)) = bytes.split_first() else {
        return;
    };
    let all = MediaType::ALL;
    let media_type = all[usize::from(*first) % all.len()];
    let result = probe::read_unguarded(media_type, file);
    assert_eq!(decode_result(media_type, &encode_result(result)), Some(result));
});
