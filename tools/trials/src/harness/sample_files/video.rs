//! Videos of one frame that is shown for one second.
//!
//! The parts that are always the same are in base64. `crates/test-support` builds the same files
//! box by box.

use crate::harness::sample_files::{decode_base64, length_u32, unique_hex};

pub const MP4_TYPE: &[u8] = b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41";
const QUICKTIME_TYPE: &[u8] = b"\0\0\0\x14ftypqt  \0\0\x02\0qt  ";
/// An H.264 frame with its length.
pub const FRAME: &[u8] = b"\0\0\0\x06\x65\x88\x82\x02\x5e\x4f";
/// The box `moov` for one frame, without its end: the offset of the frame.
const INDEX_BEGINNING: &str = concat!(
    "AAACY21vb3YAAABsbXZoZAAAAAAAAAAAAAAAAAAAA+gAAAPoAAEAAAEAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAA",
    "AAAAAQAAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIAAAHvdHJhawAAAFx0a2hk",
    "AAAAAwAAAAAAAAAAAAAAAQAAAAAAAAPoAAAAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAA",
    "AAAAAAAAQAAAAAAQAAAAEAAAAAABi21kaWEAAAAgbWRoZAAAAAAAAAAAAAAAAAAAA+gAAAPoVcQAAAAAACZoZGxy",
    "AAAAAAAAAAB2aWRlAAAAAAAAAAAAAAAAdmlkZW8AAAABPW1pbmYAAAAUdm1oZAAAAAEAAAAAAAAAAAAAACRkaW5m",
    "AAAAHGRyZWYAAAAAAAAAAQAAAAx1cmwgAAAAAQAAAP1zdGJsAAAAlXN0c2QAAAAAAAAAAQAAAIVhdmMxAAAAAAAA",
    "AAEAAAAAAAAAAAAAAAAAAAAAABAAEABIAAAASAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "AAAAGP//AAAAL2F2Y0MBQsAK/+EAFmdCwAqmEXoQAAADABAAAAMDKPEiYRgBAAZoyEIPLIAAAAAYc3R0cwAAAAAA",
    "AAABAAAAAQAAA+gAAAAcc3RzYwAAAAAAAAABAAAAAQAAAAEAAAABAAAAGHN0c3oAAAAAAAAAAAAAAAEAAAAKAAAA",
    "FHN0Y28AAAAAAAAAAQ=="
);
/// The EBML headers.
const WEBM_HEAD: &str = concat!(
    "GkXfowEAAAAAAABQQoYBAAAAAAAAAQFC9wEAAAAAAAABAULyAQAAAAAAAAEEQvMBAAAAAAAAAQhCggEAAAAAAAAE",
    "d2VibUKHAQAAAAAAAAECQoUBAAAAAAAAAQI="
);
const MATROSKA_HEAD: &str = concat!(
    "GkXfowEAAAAAAABUQoYBAAAAAAAAAQFC9wEAAAAAAAABAULyAQAAAAAAAAEEQvMBAAAAAAAAAQhCggEAAAAAAAAI",
    "bWF0cm9za2FChwEAAAAAAAABAkKFAQAAAAAAAAEC"
);
/// A segment with one VP8 frame, before and after 32 bytes that name the program.
const SEGMENT_BEGINNING: &str = concat!(
    "GFOAZwEAAAAAAAEEFUmpZgEAAAAAAABbKtexAQAAAAAAAAQAD0JARIkBAAAAAAAACECPQAAAAAAATYABAAAAAAAA",
    "BnRyaWFsc1dBAQAAAAAAACA="
);
const SEGMENT_END: &str = concat!(
    "FlSuawEAAAAAAABTrgEAAAAAAABK1wEAAAAAAAABAXPFAQAAAAAAAAEBgwEAAAAAAAABAYYBAAAAAAAABVZfVlA4",
    "4AEAAAAAAAAUsAEAAAAAAAABELoBAAAAAAAAARAfQ7Z1AQAAAAAAADLnAQAAAAAAAAEAowEAAAAAAAAfgQAAgBAC",
    "AJ0BKhAAEAAARwiFhYiFhIgCAgAGGWgAAA=="
);

pub fn mp4() -> Vec<u8> {
    iso_file(MP4_TYPE)
}

pub fn quicktime() -> Vec<u8> {
    iso_file(QUICKTIME_TYPE)
}

fn iso_file(file_type: &[u8]) -> Vec<u8> {
    let header = file_header(file_type);
    let index = index(length_u32(&header) + 8);
    [header.as_slice(), b"\0\0\0\x12mdat", FRAME, &index].concat()
}

/// Everything before the frames.
pub fn file_header(file_type: &[u8]) -> Vec<u8> {
    [file_type, b"\0\0\0\x28free", unique_hex().as_bytes()].concat()
}

/// The box `moov` for one frame at this offset.
pub fn index(frame_at: u32) -> Vec<u8> {
    let mut bytes = decode_base64(INDEX_BEGINNING);
    bytes.extend(frame_at.to_be_bytes());
    bytes
}

pub fn webm() -> Vec<u8> {
    matroska_file(WEBM_HEAD)
}

pub fn matroska() -> Vec<u8> {
    matroska_file(MATROSKA_HEAD)
}

fn matroska_file(head: &str) -> Vec<u8> {
    let [head, beginning, end] = [head, SEGMENT_BEGINNING, SEGMENT_END].map(decode_base64);
    [head, beginning, unique_hex().into_bytes(), end].concat()
}
