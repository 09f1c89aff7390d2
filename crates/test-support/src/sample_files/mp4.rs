//! MP4 and QuickTime videos of one frame, 16 by 16.

use super::building_blocks::{atom, hex, length, numbers};
use super::unique_text;

/// The index counts in milliseconds.
const TIMESCALE: u32 = 1000;
const MATRIX: [u32; 9] = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000];
const H264_SPS: &str = "6742c00aa6117a1000000300100000030328f1226118";
const H264_PPS: &str = "68c8420f2c80";

pub fn mp4() -> Vec<u8> {
    video(b"isom\0\0\x02\0isomiso2avc1mp41")
}

pub fn quicktime() -> Vec<u8> {
    video(b"qt  \0\0\x02\0qt  ")
}

/// A video of more than 50 MB, mostly padding.
pub fn large_mp4() -> Vec<u8> {
    [mp4(), atom(b"free", &vec![0; 52 << 20])].concat()
}

/// One frame, shown for a second.
fn video(brands: &[u8]) -> Vec<u8> {
    let head = head(brands);
    let index = index(length(&head) + 8, TIMESCALE);
    [head, atom(b"mdat", &frame()), index].concat()
}

/// Everything before the frames.
pub fn head(brands: &[u8]) -> Vec<u8> {
    [
        atom(b"ftyp", brands),
        atom(b"free", unique_text().as_bytes()),
    ]
    .concat()
}

pub fn frame() -> Vec<u8> {
    hex("00000006658882025e4f")
}

/// The `moov` box for one frame at this offset, shown for that many milliseconds.
pub fn index(frame_offset: u32, milliseconds: u32) -> Vec<u8> {
    let header = [
        numbers(&[0, 0, 0, TIMESCALE, milliseconds]),
        numbers(&[0x10000, 0x0100_0000, 0, 0]),
        numbers(&MATRIX),
        numbers(&[0, 0, 0, 0, 0, 0, 2]),
    ];
    let parts = [
        atom(b"mvhd", &header.concat()),
        track(frame_offset, milliseconds),
    ];
    atom(b"moov", &parts.concat())
}

fn track(frame_offset: u32, milliseconds: u32) -> Vec<u8> {
    let header = [
        numbers(&[3, 0, 0, 1, 0, milliseconds, 0, 0, 0, 0]),
        numbers(&MATRIX),
        numbers(&[16 << 16, 16 << 16]),
    ];
    let timing = numbers(&[0, 0, 0, TIMESCALE, milliseconds, 0x55c4_0000]);
    let handler = [[0_u8; 8].as_slice(), b"vide", &[0; 12], b"video\0"];
    let media = [
        atom(b"mdhd", &timing),
        atom(b"hdlr", &handler.concat()),
        media_information(frame_offset, milliseconds),
    ];
    let parts = [
        atom(b"tkhd", &header.concat()),
        atom(b"mdia", &media.concat()),
    ];
    atom(b"trak", &parts.concat())
}

fn media_information(frame_offset: u32, milliseconds: u32) -> Vec<u8> {
    let reference = [numbers(&[0, 1]), atom(b"url ", &numbers(&[1]))].concat();
    let table = [
        sample_description(),
        atom(b"stts", &numbers(&[0, 1, 1, milliseconds])),
        atom(b"stsc", &numbers(&[0, 1, 1, 1, 1])),
        atom(b"stsz", &numbers(&[0, 0, 1, length(&frame())])),
        atom(b"stco", &numbers(&[0, 1, frame_offset])),
    ];
    let parts = [
        atom(b"vmhd", &numbers(&[1, 0, 0])),
        atom(b"dinf", &atom(b"dref", &reference)),
        atom(b"stbl", &table.concat()),
    ];
    atom(b"minf", &parts.concat())
}

fn sample_description() -> Vec<u8> {
    let (sps, pps) = (hex(H264_SPS), hex(H264_PPS));
    let configuration = [
        b"\x01",
        &sps[1..4],
        b"\xff\xe1\0\x16",
        &sps,
        b"\x01\0\x06",
        &pps,
    ];
    let entry = [
        hex("0000000000000001"),
        vec![0; 16],
        hex("00100010004800000048000000000000"),
        hex("0001"),
        vec![0; 32],
        hex("0018ffff"),
        atom(b"avcC", &configuration.concat()),
    ];
    let entry = atom(b"avc1", &entry.concat());
    atom(b"stsd", &[numbers(&[0, 1]), entry].concat())
}
