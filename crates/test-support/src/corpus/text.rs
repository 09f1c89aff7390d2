//! Text: valid and invalid UTF-8, and characters that are split between chunks.

use domain::file::{FileStructure, MediaType};

use super::{CorpusBuilder, ExpectedResult};

/// How much the reader takes at a time.
const READ_BYTES: usize = 64 << 10;

pub(super) fn add_files(shelf: &mut CorpusBuilder) {
    let sound = ExpectedResult::Valid(FileStructure::Text);
    for media_type in [MediaType::Text, MediaType::Csv, MediaType::Markdown] {
        shelf.add("sound", media_type, b"crate,weight\n".to_vec(), sound);
    }
    for (name, character) in CHARACTERS {
        for before in (READ_BYTES - character.len())..=READ_BYTES {
            let bytes = [&vec![b'a'; before], *character, b"b"].concat();
            let name = format!("{name} after {before} bytes");
            shelf.add(&name, MediaType::Text, bytes, sound);
        }
    }
    for (name, wrong) in INVALID_UTF8 {
        for before in [0, 1, READ_BYTES - 1, READ_BYTES] {
            let bytes = [&vec![b'a'; before], *wrong].concat();
            let name = format!("{name} after {before} bytes");
            shelf.add_malformed(&name, MediaType::Text, bytes);
        }
    }
    let long = vec![b'a'; (50 << 20) + 1];
    shelf.add_malformed("a byte too long", MediaType::Csv, long);
}

const CHARACTERS: &[(&str, &[u8])] = &[
    ("two bytes", "é".as_bytes()),
    ("three bytes", "€".as_bytes()),
    ("four bytes", "🚢".as_bytes()),
];

const INVALID_UTF8: &[(&str, &[u8])] = &[
    ("a byte that never is", b"\xff"),
    ("a byte that only follows", b"\x80"),
    ("an overlong slash", b"\xc0\xaf"),
    ("half a surrogate", b"\xed\xa0\x80"),
    ("beyond the last character", b"\xf4\x90\x80\x80"),
    ("a character cut off", b"\xf0\x9f\x9a"),
    ("a character interrupted", b"\xe2\x82a"),
];
