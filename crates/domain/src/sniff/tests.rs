//! First bytes of every form, and of what only looks like it.

use proptest::prelude::*;

use super::{SNIFFED_BYTES, fits};
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

/// What fits exactly these media types, and no other.
fn fit_only(first: &[u8], expected: &[MediaType]) {
    let all = MediaType::ALL.iter().copied();
    let found: Vec<MediaType> = all.filter(|it| fits(*it, first)).collect();
    assert_eq!(found, expected, "{}", first.escape_ascii());
}

#[test]
fn every_form_fits_its_own_media_type_alone() {
    fit_only(JPEG, &[MediaType::Jpeg]);
    fit_only(PNG, &[MediaType::Png]);
    fit_only(GIF, &[MediaType::Gif]);
    fit_only(b"GIF87a\x01\0", &[MediaType::Gif]);
    fit_only(WEBP, &[MediaType::Webp]);
    fit_only(PDF, &[MediaType::Pdf]);
    fit_only(MP4, &[MediaType::Mp4]);
    fit_only(QUICKTIME, &[MediaType::QuickTime]);
    fit_only(WEBM, &[MediaType::Webm]);
    fit_only(MATROSKA, &[MediaType::Matroska]);
    let texts = [MediaType::Text, MediaType::Csv, MediaType::Markdown];
    fit_only(TEXT, &texts);
    fit_only("Käse 🚢".as_bytes(), &texts);
    fit_only(b"", &texts);
    // Words that QuickTime begins with, too, but not behind a length.
    fit_only(b"The wide sea, the free wind", &texts);
}

#[test]
fn what_only_resembles_a_form_does_not_fit() {
    for first in [
        &b"\x89PN"[..],
        b"\xff\xd8",
        b"GIF88a",
        b"RIFF\0\0\0\0WAVE",
        b"\0\0\0\x08",
    ] {
        fit_only(first, if first.contains(&0) { &[] } else { TEXTS });
    }
    // Pictures and sound in the same boxes.
    fit_only(b"\0\0\0\x14ftypheic\0\0\0\0mif1", &[]);
    fit_only(b"\0\0\0\x14ftypM4A \0\0\0\0M4A ", &[]);
}

const TEXTS: &[MediaType] = &[MediaType::Text, MediaType::Csv, MediaType::Markdown];

#[test]
fn a_pdf_may_begin_with_blanks_but_not_with_another_file() {
    assert!(fits(MediaType::Pdf, b"\xef\xbb\xbf%PDF-1.7"));
    assert!(fits(MediaType::Pdf, b"\xef\xbb\xbf\r\n\t %PDF-1.7"));
    assert!(!fits(MediaType::Pdf, b"GIF89a%PDF-1.7"));
    assert!(!fits(MediaType::Pdf, b"a note\n%PDF-1.7"));
    let far = [&vec![b' '; 1024], PDF].concat();
    assert!(!fits(MediaType::Pdf, &far));
}

#[test]
fn brands_tell_mp4_from_quicktime() {
    let both = b"\0\0\0\x18ftypqt  \0\0\0\0mp42qt  ";
    fit_only(both, &[MediaType::Mp4, MediaType::QuickTime]);
    // A brand behind the end of its box is none.
    fit_only(b"\0\0\0\x10ftypqt  \0\0\0\0mp42", &[MediaType::QuickTime]);
    for first in [b"moov", b"mdat", b"wide", b"free"] {
        let old = [b"\0\0\0\x08", first.as_slice()].concat();
        fit_only(&old, &[MediaType::QuickTime]);
    }
}

#[test]
fn boxes_behind_the_mark_of_another_form_are_not_seen() {
    let either = [MediaType::Webm, MediaType::Matroska];
    fit_only(b"\x1a\x45\xdf\xa3ftypisom\0\x02ree\xff", &either);
    fit_only(b"\x1a\x45\xdf\xa3ftypqt  \0\x02\0\0", &either);
    fit_only(b"\x1a\x45\xdf\xa3moov\0\0\0\0", &either);
    fit_only(b"GIF89ftypisom\0", &[]);
}

#[test]
fn a_header_that_cannot_be_read_is_left_to_the_probe() {
    let either = [MediaType::Webm, MediaType::Matroska];
    fit_only(b"\x1a\x45\xdf\xa3", &either);
    fit_only(b"\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67", &either);
    fit_only(b"\x1a\x45\xdf\xa3\x87\x42\x82\x88webm", &either);
    fit_only(b"\x1a\x45\xdf\xa3\x87\x42\x82\x84mp3!", &[]);
    fit_only(
        b"\x1a\x45\xdf\xa3\x89\x42\x82\x86webm\0\0",
        &[MediaType::Webm],
    );
    // As long as it can be said to be.
    fit_only(b"\x1a\x45\xdf\xa3\x01\xff\xff\xff\xff\xff\xff\xff", &either);
}

#[test]
fn a_nul_in_the_first_bytes_is_no_text() {
    let mut long = vec![b'a'; 2 * SNIFFED_BYTES];
    assert!(fits(MediaType::Text, &long));
    long[SNIFFED_BYTES] = 0;
    assert!(fits(MediaType::Text, &long));
    long[SNIFFED_BYTES - 1] = 0;
    assert!(!fits(MediaType::Text, &long));
}

proptest! {
    #[test]
    fn nothing_fits_two_forms(start in 0..10_usize, rest: Vec<u8>) {
        let starts = [JPEG, PNG, GIF, WEBP, PDF, TEXT, MP4, QUICKTIME, WEBM, MATROSKA];
        let first = [starts[start], &rest].concat();
        let count = MediaType::ALL.iter().filter(|it| fits(**it, &first)).count();
        prop_assert!(count <= 3);
    }
}
