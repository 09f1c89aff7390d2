//! First bytes of every format, and bytes that only resemble one.

use proptest::prelude::*;

use super::{SNIFFED_BYTES, matches_media_type};
use crate::file::MediaType;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";
const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF";
const GIF: &[u8] = b"GIF89a\x01\0\x01\0";
const WEBP: &[u8] = b"RIFF\x24\0\0\0WEBPVP8L";
const PDF: &[u8] = b"%PDF-1.4\n%\xe2\xe3\n";
const TEXT: &[u8] = b"crate,weight\n";
const MP4: &[u8] = b"\0\0\0\x14ftypisom\0\0\x02\0mp41";
const QUICKTIME: &[u8] = b"\0\0\0\x14ftypqt  \0\0\x02\0qt  ";
const WEBM: &[u8] = b"\x1a\x45\xdf\xa3\x87\x42\x82\x84webm\x18\x53";
const MATROSKA: &[u8] = b"\x1a\x45\xdf\xa3\x8f\x42\x86\x81\x01\x42\x82\x88matroska";

/// Asserts that the bytes match exactly these media types.
fn assert_matches_only(first: &[u8], expected: &[MediaType]) {
    let all = MediaType::ALL.iter().copied();
    let found: Vec<MediaType> = all.filter(|it| matches_media_type(*it, first)).collect();
    assert_eq!(found, expected, "{}", first.escape_ascii());
}

#[test]
fn every_format_matches_its_media_type_alone() {
    assert_matches_only(JPEG, &[MediaType::Jpeg]);
    assert_matches_only(PNG, &[MediaType::Png]);
    assert_matches_only(GIF, &[MediaType::Gif]);
    assert_matches_only(b"GIF87a\x01\0", &[MediaType::Gif]);
    assert_matches_only(WEBP, &[MediaType::Webp]);
    assert_matches_only(PDF, &[MediaType::Pdf]);
    assert_matches_only(MP4, &[MediaType::Mp4]);
    assert_matches_only(QUICKTIME, &[MediaType::QuickTime]);
    assert_matches_only(WEBM, &[MediaType::Webm]);
    assert_matches_only(MATROSKA, &[MediaType::Matroska]);
    let texts = [MediaType::Text, MediaType::Csv, MediaType::Markdown];
    assert_matches_only(TEXT, &texts);
    assert_matches_only("Käse 🚢".as_bytes(), &texts);
    assert_matches_only(b"", &texts);
    // QuickTime begins with these words, too, but after a length.
    assert_matches_only(b"The wide sea, the free wind", &texts);
}

#[test]
fn bytes_that_only_resemble_a_format_do_not_match() {
    for first in [
        &b"\x89PN"[..],
        b"\xff\xd8",
        b"GIF88a",
        b"RIFF\0\0\0\0WAVE",
        b"\0\0\0\x08",
    ] {
        assert_matches_only(first, if first.contains(&0) { &[] } else { TEXTS });
    }
    // Images and audio in the same boxes.
    assert_matches_only(b"\0\0\0\x14ftypheic\0\0\0\0mif1", &[]);
    assert_matches_only(b"\0\0\0\x14ftypM4A \0\0\0\0M4A ", &[]);
}

const TEXTS: &[MediaType] = &[MediaType::Text, MediaType::Csv, MediaType::Markdown];

#[test]
fn a_pdf_may_begin_with_blanks_but_not_with_another_file() {
    assert!(matches_media_type(MediaType::Pdf, b"\xef\xbb\xbf%PDF-1.7"));
    assert!(matches_media_type(
        MediaType::Pdf,
        b"\xef\xbb\xbf\r\n\t %PDF-1.7"
    ));
    assert!(!matches_media_type(MediaType::Pdf, b"GIF89a%PDF-1.7"));
    assert!(!matches_media_type(MediaType::Pdf, b"a note\n%PDF-1.7"));
    let far = [&vec![b' '; 1024], PDF].concat();
    assert!(!matches_media_type(MediaType::Pdf, &far));
}

#[test]
fn brands_tell_mp4_from_quicktime() {
    let both = b"\0\0\0\x18ftypqt  \0\0\0\0mp42qt  ";
    assert_matches_only(both, &[MediaType::Mp4, MediaType::QuickTime]);
    // A brand after the end of its box does not count.
    assert_matches_only(b"\0\0\0\x10ftypqt  \0\0\0\0mp42", &[MediaType::QuickTime]);
    for first in [b"moov", b"mdat", b"wide", b"free"] {
        let old = [b"\0\0\0\x08", first.as_slice()].concat();
        assert_matches_only(&old, &[MediaType::QuickTime]);
    }
}

#[test]
fn boxes_after_the_magic_of_another_format_do_not_count() {
    let either = [MediaType::Webm, MediaType::Matroska];
    assert_matches_only(b"\x1a\x45\xdf\xa3ftypisom\0\x02ree\xff", &either);
    assert_matches_only(b"\x1a\x45\xdf\xa3ftypqt  \0\x02\0\0", &either);
    assert_matches_only(b"\x1a\x45\xdf\xa3moov\0\0\0\0", &either);
    assert_matches_only(b"GIF89ftypisom\0", &[]);
}

#[test]
fn a_header_that_cannot_be_read_is_left_to_the_probe() {
    let either = [MediaType::Webm, MediaType::Matroska];
    assert_matches_only(b"\x1a\x45\xdf\xa3", &either);
    assert_matches_only(b"\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67", &either);
    assert_matches_only(b"\x1a\x45\xdf\xa3\x87\x42\x82\x88webm", &either);
    assert_matches_only(b"\x1a\x45\xdf\xa3\x87\x42\x82\x84mp3!", &[]);
    assert_matches_only(
        b"\x1a\x45\xdf\xa3\x89\x42\x82\x86webm\0\0",
        &[MediaType::Webm],
    );
    // The largest length that can be written.
    assert_matches_only(b"\x1a\x45\xdf\xa3\x01\xff\xff\xff\xff\xff\xff\xff", &either);
}

#[test]
fn a_nul_in_the_first_bytes_is_no_text() {
    let mut long = vec![b'a'; 2 * SNIFFED_BYTES];
    assert!(matches_media_type(MediaType::Text, &long));
    long[SNIFFED_BYTES] = 0;
    assert!(matches_media_type(MediaType::Text, &long));
    long[SNIFFED_BYTES - 1] = 0;
    assert!(!matches_media_type(MediaType::Text, &long));
}

proptest! {
    #[test]
    fn no_bytes_match_two_formats(start in 0..10_usize, rest: Vec<u8>) {
        let starts = [JPEG, PNG, GIF, WEBP, PDF, TEXT, MP4, QUICKTIME, WEBM, MATROSKA];
        let first = [starts[start], &rest].concat();
        let count = MediaType::ALL.iter().filter(|it| matches_media_type(**it, &first)).count();
        prop_assert!(count <= 3);
    }
}
