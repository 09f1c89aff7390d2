//! Videos of one frame that is shown for one second.

use crate::harness::sample_files::{decode_hex, length_u32, unique_hex};

const H264_SPS: &str = "6742c00aa6117a1000000300100000030328f1226118";
const H264_PPS: &str = "68c8420f2c80";
const H264_FRAME: &str = "658882025e4f";
const VP8_FRAME: &str = "1002009d012a100010000047088585888584880202000619680000";
const MATRIX: [u32; 9] = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000];
const TIMESCALE: u32 = 1000;

pub fn mp4() -> Vec<u8> {
    iso_file(b"isom\0\0\x02\0isomiso2avc1mp41")
}

pub fn quicktime() -> Vec<u8> {
    iso_file(b"qt  \0\0\x02\0qt  ")
}

fn iso_file(brands: &[u8]) -> Vec<u8> {
    let mut bytes = file_header(brands);
    let frame_at = length_u32(&bytes) + 8;
    bytes.extend(iso_box(*b"mdat", &[&frame_sample()]));
    bytes.extend(moov_box(frame_at, 1));
    bytes
}

/// Everything before the frames.
pub fn file_header(brands: &[u8]) -> Vec<u8> {
    let mut bytes = iso_box(*b"ftyp", &[brands]);
    bytes.extend(iso_box(*b"free", &[unique_hex().as_bytes()]));
    bytes
}

pub fn frame_sample() -> Vec<u8> {
    let frame = decode_hex(H264_FRAME);
    [length_u32(&frame).to_be_bytes().to_vec(), frame].concat()
}

pub fn iso_box(name: [u8; 4], parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let mut bytes = (length_u32(&body) + 8).to_be_bytes().to_vec();
    bytes.extend_from_slice(&name);
    bytes.extend(body);
    bytes
}

fn full_box(name: [u8; 4], flags: u32, parts: &[&[u8]]) -> Vec<u8> {
    iso_box(name, &[&flags.to_be_bytes(), &parts.concat()])
}

fn be_words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// `moov` for one frame at this offset.
pub fn moov_box(frame_at: u32, seconds: u32) -> Vec<u8> {
    let duration = seconds * TIMESCALE;
    let header = [
        be_words(&[0, 0, TIMESCALE, duration, 0x10000]),
        vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        be_words(&MATRIX),
        vec![0; 24],
        be_words(&[2]),
    ];
    let header = full_box(*b"mvhd", 0, &[&header.concat()]);
    iso_box(*b"moov", &[&header, &track_box(frame_at, duration)])
}

fn track_box(frame_at: u32, duration: u32) -> Vec<u8> {
    let header = [
        be_words(&[0, 0, 1, 0, duration, 0, 0, 0, 0]),
        be_words(&MATRIX),
        be_words(&[16 << 16, 16 << 16]),
    ];
    let timing = [
        be_words(&[0, 0, TIMESCALE, duration]),
        vec![0x55, 0xc4, 0, 0],
    ];
    let handler = [b"\0\0\0\0vide".as_slice(), &[0; 12], b"video\0"];
    let media = iso_box(
        *b"mdia",
        &[
            &full_box(*b"mdhd", 0, &[&timing.concat()]),
            &full_box(*b"hdlr", 0, &handler),
            &media_information_box(frame_at, duration),
        ],
    );
    let header = full_box(*b"tkhd", 3, &[&header.concat()]);
    iso_box(*b"trak", &[&header, &media])
}

fn media_information_box(frame_at: u32, duration: u32) -> Vec<u8> {
    let reference = full_box(*b"url ", 1, &[]);
    let reference = full_box(*b"dref", 0, &[&be_words(&[1]), &reference]);
    let table = iso_box(
        *b"stbl",
        &[
            &full_box(*b"stsd", 0, &[&be_words(&[1]), &sample_description_box()]),
            &full_box(*b"stts", 0, &[&be_words(&[1, 1, duration])]),
            &full_box(*b"stsc", 0, &[&be_words(&[1, 1, 1, 1])]),
            &full_box(
                *b"stsz",
                0,
                &[&be_words(&[0, 1, length_u32(&frame_sample())])],
            ),
            &full_box(*b"stco", 0, &[&be_words(&[1, frame_at])]),
        ],
    );
    iso_box(
        *b"minf",
        &[
            &full_box(*b"vmhd", 1, &[&[0; 8]]),
            &iso_box(*b"dinf", &[&reference]),
            &table,
        ],
    )
}

fn sample_description_box() -> Vec<u8> {
    let (sps, pps) = (decode_hex(H264_SPS), decode_hex(H264_PPS));
    let profile = sps.get(1..4).unwrap_or_default();
    let short = |bytes: &[u8]| u16::try_from(bytes.len()).unwrap_or_default().to_be_bytes();
    let configuration = iso_box(
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
    entry.extend(be_words(&[0x48_0000, 0x48_0000, 0]));
    entry.extend_from_slice(&[0, 1]);
    entry.extend_from_slice(&[0; 32]);
    entry.extend_from_slice(&[0, 0x18, 0xff, 0xff]);
    iso_box(*b"avc1", &[&entry, &configuration])
}

pub fn webm() -> Vec<u8> {
    matroska_file("webm")
}

pub fn matroska() -> Vec<u8> {
    matroska_file("matroska")
}

fn matroska_file(doctype: &str) -> Vec<u8> {
    let head = [
        ebml_number("4286", 1),
        ebml_number("42f7", 1),
        ebml_number("42f2", 4),
        ebml_number("42f3", 8),
        ebml_element("4282", doctype.as_bytes()),
        ebml_number("4287", 2),
        ebml_number("4285", 2),
    ];
    let information = [
        ebml_element("2ad7b1", &1_000_000u32.to_be_bytes()),
        ebml_element("4489", &1000f64.to_be_bytes()),
        ebml_element("4d80", b"trials"),
        ebml_element("5741", unique_hex().as_bytes()),
    ];
    let video = ebml_element(
        "e0",
        &[ebml_number("b0", 16), ebml_number("ba", 16)].concat(),
    );
    let track = [
        ebml_number("d7", 1),
        ebml_number("73c5", 1),
        ebml_number("83", 1),
        ebml_element("86", b"V_VP8"),
        video,
    ];
    let block = [decode_hex("81000080"), decode_hex(VP8_FRAME)].concat();
    let cluster = [ebml_number("e7", 0), ebml_element("a3", &block)];
    let segment = [
        ebml_element("1549a966", &information.concat()),
        ebml_element("1654ae6b", &ebml_element("ae", &track.concat())),
        ebml_element("1f43b675", &cluster.concat()),
    ];
    let mut bytes = ebml_element("1a45dfa3", &head.concat());
    bytes.extend(ebml_element("18538067", &segment.concat()));
    bytes
}

fn ebml_number(identifier: &str, value: u8) -> Vec<u8> {
    ebml_element(identifier, &[value])
}

fn ebml_element(identifier: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = decode_hex(identifier);
    let length = u64::from(length_u32(body)) | 1 << 56;
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}
