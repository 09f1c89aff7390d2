//! Videos of one frame that is shown for a second.

use crate::samples::{from_hex, length_of, unique};

const H264_SPS: &str = "6742c00aa6117a1000000300100000030328f1226118";
const H264_PPS: &str = "68c8420f2c80";
const H264_FRAME: &str = "658882025e4f";
const VP8_FRAME: &str = "1002009d012a100010000047088585888584880202000619680000";
const MATRIX: [u32; 9] = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000];
const SCALE: u32 = 1000;

pub fn mp4() -> Vec<u8> {
    iso(b"isom\0\0\x02\0isomiso2avc1mp41")
}

pub fn quicktime() -> Vec<u8> {
    iso(b"qt  \0\0\x02\0qt  ")
}

fn iso(brands: &[u8]) -> Vec<u8> {
    let mut bytes = head(brands);
    let frame_at = length_of(&bytes) + 8;
    bytes.extend(boxed(*b"mdat", &[&frame()]));
    bytes.extend(movie(frame_at, 1));
    bytes
}

/// What stands before the frames.
pub fn head(brands: &[u8]) -> Vec<u8> {
    let mut bytes = boxed(*b"ftyp", &[brands]);
    bytes.extend(boxed(*b"free", &[unique().as_bytes()]));
    bytes
}

pub fn frame() -> Vec<u8> {
    let frame = from_hex(H264_FRAME);
    [length_of(&frame).to_be_bytes().to_vec(), frame].concat()
}

pub fn boxed(name: [u8; 4], parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let mut bytes = (length_of(&body) + 8).to_be_bytes().to_vec();
    bytes.extend_from_slice(&name);
    bytes.extend(body);
    bytes
}

fn full(name: [u8; 4], flags: u32, parts: &[&[u8]]) -> Vec<u8> {
    boxed(name, &[&flags.to_be_bytes(), &parts.concat()])
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// `moov` for one frame at this offset, shown for so many seconds.
pub fn movie(frame_at: u32, seconds: u32) -> Vec<u8> {
    let duration = seconds * SCALE;
    let header = [
        words(&[0, 0, SCALE, duration, 0x10000]),
        vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        words(&MATRIX),
        vec![0; 24],
        words(&[2]),
    ];
    let header = full(*b"mvhd", 0, &[&header.concat()]);
    boxed(*b"moov", &[&header, &track(frame_at, duration)])
}

fn track(frame_at: u32, duration: u32) -> Vec<u8> {
    let header = [
        words(&[0, 0, 1, 0, duration, 0, 0, 0, 0]),
        words(&MATRIX),
        words(&[16 << 16, 16 << 16]),
    ];
    let timing = [words(&[0, 0, SCALE, duration]), vec![0x55, 0xc4, 0, 0]];
    let handler = [b"\0\0\0\0vide".as_slice(), &[0; 12], b"video\0"];
    let media = boxed(
        *b"mdia",
        &[
            &full(*b"mdhd", 0, &[&timing.concat()]),
            &full(*b"hdlr", 0, &handler),
            &information(frame_at, duration),
        ],
    );
    let header = full(*b"tkhd", 3, &[&header.concat()]);
    boxed(*b"trak", &[&header, &media])
}

fn information(frame_at: u32, duration: u32) -> Vec<u8> {
    let reference = full(*b"url ", 1, &[]);
    let reference = full(*b"dref", 0, &[&words(&[1]), &reference]);
    let table = boxed(
        *b"stbl",
        &[
            &full(*b"stsd", 0, &[&words(&[1]), &description()]),
            &full(*b"stts", 0, &[&words(&[1, 1, duration])]),
            &full(*b"stsc", 0, &[&words(&[1, 1, 1, 1])]),
            &full(*b"stsz", 0, &[&words(&[0, 1, length_of(&frame())])]),
            &full(*b"stco", 0, &[&words(&[1, frame_at])]),
        ],
    );
    boxed(
        *b"minf",
        &[
            &full(*b"vmhd", 1, &[&[0; 8]]),
            &boxed(*b"dinf", &[&reference]),
            &table,
        ],
    )
}

fn description() -> Vec<u8> {
    let (sps, pps) = (from_hex(H264_SPS), from_hex(H264_PPS));
    let profile = sps.get(1..4).unwrap_or_default();
    let short = |bytes: &[u8]| u16::try_from(bytes.len()).unwrap_or_default().to_be_bytes();
    let configuration = boxed(
        *b"avcC",
        &[
            &[1],
            profile,
            &[0xff, 0xe1],
            &short(&sps),
            &sps,
            &[1],
            &short(&pps),
            &pps,
        ],
    );
    let mut entry = vec![0, 0, 0, 0, 0, 0, 0, 1];
    entry.extend_from_slice(&[0; 16]);
    entry.extend_from_slice(&[0, 16, 0, 16]);
    entry.extend(words(&[0x48_0000, 0x48_0000, 0]));
    entry.extend_from_slice(&[0, 1]);
    entry.extend_from_slice(&[0; 32]);
    entry.extend_from_slice(&[0, 0x18, 0xff, 0xff]);
    boxed(*b"avc1", &[&entry, &configuration])
}

pub fn webm() -> Vec<u8> {
    matroska_of("webm")
}

pub fn matroska() -> Vec<u8> {
    matroska_of("matroska")
}

fn matroska_of(doctype: &str) -> Vec<u8> {
    let head = [
        number("4286", 1),
        number("42f7", 1),
        number("42f2", 4),
        number("42f3", 8),
        element("4282", doctype.as_bytes()),
        number("4287", 2),
        number("4285", 2),
    ];
    let information = [
        element("2ad7b1", &1_000_000u32.to_be_bytes()),
        element("4489", &1000f64.to_be_bytes()),
        element("4d80", b"trials"),
        element("5741", unique().as_bytes()),
    ];
    let video = element("e0", &[number("b0", 16), number("ba", 16)].concat());
    let track = [
        number("d7", 1),
        number("73c5", 1),
        number("83", 1),
        element("86", b"V_VP8"),
        video,
    ];
    let block = [from_hex("81000080"), from_hex(VP8_FRAME)].concat();
    let cluster = [number("e7", 0), element("a3", &block)];
    let segment = [
        element("1549a966", &information.concat()),
        element("1654ae6b", &element("ae", &track.concat())),
        element("1f43b675", &cluster.concat()),
    ];
    let mut bytes = element("1a45dfa3", &head.concat());
    bytes.extend(element("18538067", &segment.concat()));
    bytes
}

fn number(identifier: &str, value: u8) -> Vec<u8> {
    element(identifier, &[value])
}

fn element(identifier: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = from_hex(identifier);
    let length = u64::from(length_of(body)) | 1 << 56;
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}
