//! WebM and Matroska videos of one frame, 16 by 16, shown for a second.

use super::building_blocks::{element, hex};
use super::unique_text;

const VP8_FRAME: &str = "1002009d012a100010000047088585888584880202000619680000";

pub fn webm() -> Vec<u8> {
    video("webm")
}

pub fn matroska() -> Vec<u8> {
    video("matroska")
}

fn video(doctype: &str) -> Vec<u8> {
    let head = [
        element(0x4286, b"\x01"),
        element(0x42f7, b"\x01"),
        element(0x42f2, b"\x04"),
        element(0x42f3, b"\x08"),
        element(0x4282, doctype.as_bytes()),
        element(0x4287, b"\x02"),
        element(0x4285, b"\x02"),
    ];
    let info = [
        element(0x2a_d7b1, b"\x0f\x42\x40"),
        element(0x4489, &1000_f64.to_be_bytes()),
        element(0x4d80, b"test"),
        element(0x5741, unique_text().as_bytes()),
    ];
    let sides = [element(0xb0, b"\x10"), element(0xba, b"\x10")].concat();
    let track = [
        element(0xd7, b"\x01"),
        element(0x73c5, b"\x01"),
        element(0x83, b"\x01"),
        element(0x86, b"V_VP8"),
        element(0xe0, &sides),
    ];
    let block = [hex("81000080"), hex(VP8_FRAME)].concat();
    let cluster = [element(0xe7, b"\0"), element(0xa3, &block)].concat();
    let segment = [
        element(0x1549_a966, &info.concat()),
        element(0x1654_ae6b, &element(0xae, &track.concat())),
        element(0x1f43_b675, &cluster),
    ];
    [
        element(0x1a45_dfa3, &head.concat()),
        element(0x1853_8067, &segment.concat()),
    ]
    .concat()
}
