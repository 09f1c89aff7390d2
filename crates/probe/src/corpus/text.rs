//! Text: what is UTF-8, what only begins so, and borders between chunks.

use domain::file::{MediaType, Structure};

use super::{Fate, Shelf};

/// How much the reader takes at a time.
const CHUNK: usize = 64 << 10;

pub(super) fn fill(shelf: &mut Shelf) {
    let sound = Fate::Sound(Structure::Text);
    for media_type in [MediaType::Text, MediaType::Csv, MediaType::Markdown] {
        shelf.put("sound", media_type, b"crate,weight\n".to_vec(), sound);
    }
    for (name, character) in CHARACTERS {
        for before in (CHUNK - character.len())..=CHUNK {
            let bytes = [&vec![b'a'; before], *character, b"b"].concat();
            let name = format!("{name} after {before} bytes");
            shelf.put(&name, MediaType::Text, bytes, sound);
        }
    }
    for (name, wrong) in WRONG {
        for before in [0, 1, CHUNK - 1, CHUNK] {
            let bytes = [&vec![b'a'; before], *wrong].concat();
            let name = format!("{name} after {before} bytes");
            shelf.malformed(&name, MediaType::Text, bytes);
        }
    }
    let long = vec![b'a'; (50 << 20) + 1];
    shelf.malformed("a byte too long", MediaType::Csv, long);
}

const CHARACTERS: &[(&str, &[u8])] = &[
    ("two bytes", "é".as_bytes()),
    ("three bytes", "€".as_bytes()),
    ("four bytes", "🚢".as_bytes()),
];

const WRONG: &[(&str, &[u8])] = &[
    ("a byte that never is", b"\xff"),
    ("a byte that only follows", b"\x80"),
    ("an overlong slash", b"\xc0\xaf"),
    ("half a surrogate", b"\xed\xa0\x80"),
    ("beyond the last character", b"\xf4\x90\x80\x80"),
    ("a character cut off", b"\xf0\x9f\x9a"),
    ("a character interrupted", b"\xe2\x82a"),
];
