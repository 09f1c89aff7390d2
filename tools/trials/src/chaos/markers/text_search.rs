//! Finds texts in bytes in every form in which a program may have written them: as they are, in
//! hexadecimal, in base64, and compressed as the service compresses bodies.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use zstd::zstd_safe;

/// Unit in which empty space is skipped, such as the rest of a write-ahead log segment.
const BLOCK_BYTES: usize = 8192;
const EMPTY_BLOCK: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
/// The first bytes of a zstd frame.
const FRAME_BEGIN: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// More than any body of the trial unpacks to.
const MAX_UNPACKED_BYTES: u64 = 1 << 20;

/// A text in one form.
#[derive(Debug)]
struct TextForm {
    kind: &'static str,
    form: &'static str,
    bytes: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct TextSearch {
    forms: Vec<TextForm>,
    /// For each byte, whether a form or a frame begins with it.
    beginnings: Vec<bool>,
}

impl TextSearch {
    /// For texts of different kinds, at least three bytes each.
    pub(super) fn new(texts: &[(&'static str, &str)]) -> Self {
        let forms: Vec<TextForm> = texts.iter().flat_map(|text| forms_of(*text)).collect();
        let first_bytes = forms.iter().filter_map(|form| form.bytes.first());
        let first_bytes = first_bytes.chain(FRAME_BEGIN.first());
        let mut beginnings = vec![false; 256];
        for byte in first_bytes {
            if let Some(beginning) = beginnings.get_mut(usize::from(*byte)) {
                *beginning = true;
            }
        }
        Self { forms, beginnings }
    }

    /// Calls `found` with the kind and the form of every text in the bytes.
    pub(super) fn search(&self, bytes: &[u8], found: &mut dyn FnMut(&'static str, &str)) {
        let mut begin = 0;
        for block in bytes.chunks(BLOCK_BYTES) {
            if !EMPTY_BLOCK.starts_with(block) {
                for (offset, byte) in block.iter().enumerate() {
                    if self.is_beginning(*byte) {
                        let rest = bytes.get(begin + offset..).unwrap_or_default();
                        self.compare(rest, found);
                    }
                }
            }
            begin += block.len();
        }
    }

    fn is_beginning(&self, byte: u8) -> bool {
        self.beginnings.get(usize::from(byte)) == Some(&true)
    }

    fn compare(&self, rest: &[u8], found: &mut dyn FnMut(&'static str, &str)) {
        for form in self.forms.iter().filter(|it| rest.starts_with(&it.bytes)) {
            found(form.kind, form.form);
        }
        if rest.starts_with(&FRAME_BEGIN)
            && let Some(unpacked) = unpack_frame(rest)
        {
            self.search(&unpacked, &mut |kind, _| found(kind, "zstd"));
        }
    }
}

/// The contents of the frame at the beginning of some bytes.
fn unpack_frame(bytes: &[u8]) -> Option<Vec<u8>> {
    let length = zstd_safe::find_frame_compressed_size(bytes).ok()?;
    let frame = bytes.get(..length)?;
    let size = zstd_safe::get_frame_content_size(frame).ok().flatten()?;
    let size = usize::try_from(size.min(MAX_UNPACKED_BYTES)).ok()?;
    zstd::bulk::decompress(frame, size).ok()
}

fn forms_of((kind, text): (&'static str, &str)) -> Vec<TextForm> {
    let form = |form, bytes| TextForm { kind, form, bytes };
    let mut forms = vec![
        form("plain", text.as_bytes().to_vec()),
        form("hexadecimal", hex::encode(text).into_bytes()),
    ];
    let aligned = (0..3).map(|before| form("base64", base64_after(before, text)));
    forms.extend(aligned);
    forms
}

/// The digits that a text always has in base64 when so many bytes are before it, whatever these and
/// the bytes after it are.
fn base64_after(before: usize, text: &str) -> Vec<u8> {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(text.as_bytes());
    let digits = STANDARD_NO_PAD.encode(&bytes).into_bytes();
    // A digit has six bits.
    let (begin, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    digits.get(begin..end).unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const TEXT: &str = "zq0123456789abcdefprompt";

    fn find(bytes: &[u8]) -> BTreeSet<String> {
        let search = TextSearch::new(&[("prompt", TEXT), ("other", "zq00other")]);
        let mut found = BTreeSet::new();
        search.search(bytes, &mut |kind, form| {
            found.insert(format!("{kind}: {form}"));
        });
        found
    }

    #[test]
    fn a_text_is_found_in_every_form() {
        let page = |value: &[u8]| [&vec![0_u8; 3 * BLOCK_BYTES - 5][..], value, &[0; 100]].concat();
        assert_eq!(find(&page(b"zq0123456789abcdefpromp")), BTreeSet::new());
        let plain = BTreeSet::from(["prompt: plain".to_owned()]);
        assert_eq!(find(&page(TEXT.as_bytes())), plain);
        let hexadecimal = BTreeSet::from(["prompt: hexadecimal".to_owned()]);
        assert_eq!(find(&page(hex::encode(TEXT).as_bytes())), hexadecimal);
        let base64 = BTreeSet::from(["prompt: base64".to_owned()]);
        for before in ["", "a", "ab", "abc"] {
            let text = STANDARD_NO_PAD.encode(format!("{before}{TEXT}?"));
            assert_eq!(find(&page(text.as_bytes())), base64, "{before}");
        }
        // Enough digits that their bytes are packed, and not only their repetitions.
        let cubes = (1..2000_u64).map(|it| (it * it * it).to_string());
        let digits = cubes.collect::<String>();
        let body = format!("{digits}{TEXT}{digits}");
        let frame = zstd::bulk::compress(body.as_bytes(), 1).unwrap();
        assert!(!frame.windows(TEXT.len()).any(|it| it == TEXT.as_bytes()));
        let compressed = BTreeSet::from(["prompt: zstd".to_owned()]);
        assert_eq!(find(&page(&frame)), compressed);
    }
}
