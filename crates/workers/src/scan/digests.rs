//! The hashes of a file while its bytes go by: of the whole and of each part.

use domain::file::Sha256;
use domain::upload::PART_BYTES;
use sha2::Digest as _;

/// What the caller said of the parts, in order: at creation, at complete, at both or never.
#[derive(Debug, Default)]
pub(super) struct Said(pub(super) Vec<Vec<Option<Sha256>>>);

#[derive(Debug)]
pub(super) struct Digests {
    whole: sha2::Sha256,
    part: sha2::Sha256,
    in_part: u64,
    parts: usize,
    said: Said,
    are_right: bool,
}

impl Digests {
    pub(super) fn new(said: Said) -> Self {
        Self {
            whole: sha2::Sha256::new(),
            part: sha2::Sha256::new(),
            in_part: 0,
            parts: 0,
            said,
            are_right: true,
        }
    }

    /// False once a part is another than the caller said.
    pub(super) const fn parts_are_right(&self) -> bool {
        self.are_right
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        self.whole.update(bytes);
        if self.said.is_silent() {
            return;
        }
        while !bytes.is_empty() {
            let room = usize::try_from(PART_BYTES - self.in_part).unwrap_or(usize::MAX);
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            self.part.update(now);
            self.in_part += u64::try_from(now.len()).unwrap_or(u64::MAX);
            if self.in_part == PART_BYTES {
                self.end_part();
            }
            bytes = rest;
        }
    }

    /// Are these the bytes that were declared?
    pub(super) fn finish(mut self, declared: Sha256) -> bool {
        if self.in_part > 0 {
            self.end_part();
        }
        let whole = Sha256(self.whole.finalize().into());
        whole == declared && self.are_right && self.said.ends_after(self.parts)
    }

    fn end_part(&mut self) {
        let found = Sha256(self.part.finalize_reset().into());
        self.are_right &= self.said.agrees(self.parts, found);
        self.parts += 1;
        self.in_part = 0;
    }
}

impl Said {
    const fn is_silent(&self) -> bool {
        self.0.is_empty()
    }

    fn agrees(&self, part: usize, found: Sha256) -> bool {
        let one = |list: &Vec<Option<Sha256>>| match list.get(part) {
            Some(said) => said.is_none_or(|said| said == found),
            None => false,
        };
        self.0.iter().all(one)
    }

    fn ends_after(&self, parts: usize) -> bool {
        self.0.iter().all(|list| list.len() == parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha256(bytes: &[u8]) -> Sha256 {
        Sha256(sha2::Sha256::digest(bytes).into())
    }

    /// Two parts and a piece, each other bytes.
    fn bytes() -> Vec<u8> {
        let part = usize::try_from(PART_BYTES).unwrap();
        let mut bytes = vec![1; part];
        bytes.resize(2 * part, 2);
        bytes.resize(2 * part + 7, 3);
        bytes
    }

    fn parts(bytes: &[u8]) -> Vec<Option<Sha256>> {
        let part = usize::try_from(PART_BYTES).unwrap();
        bytes.chunks(part).map(|part| Some(sha256(part))).collect()
    }

    fn read(said: Said, bytes: &[u8], piece: usize) -> (bool, bool) {
        let mut digests = Digests::new(said);
        for piece in bytes.chunks(piece) {
            digests.update(piece);
        }
        (digests.parts_are_right(), digests.finish(sha256(bytes)))
    }

    #[test]
    fn right_bytes_are_right_however_they_come() {
        let bytes = bytes();
        for piece in [1 << 20, (1 << 20) + 1, bytes.len()] {
            let (said, unsaid) = (parts(&bytes), vec![None; 3]);
            for lists in [vec![], vec![said.clone()], vec![said, unsaid]] {
                assert_eq!(read(Said(lists), &bytes, piece), (true, true), "{piece}");
            }
        }
    }

    #[test]
    fn a_part_that_is_another_is_known_when_it_ends() {
        let bytes = bytes();
        let mut swapped = parts(&bytes);
        swapped.swap(0, 1);
        let mut digests = Digests::new(Said(vec![parts(&bytes), swapped]));
        let part = usize::try_from(PART_BYTES).unwrap();
        digests.update(&bytes[..part - 1]);
        assert!(digests.parts_are_right());
        digests.update(&bytes[part - 1..part]);
        assert!(!digests.parts_are_right());
    }

    #[test]
    fn a_list_of_another_length_is_wrong() {
        let bytes = bytes();
        for length in [0, 2, 4] {
            let mut list = parts(&bytes);
            list.resize(length, None);
            assert!(!read(Said(vec![list]), &bytes, 1 << 20).1, "{length}");
        }
    }

    #[test]
    fn other_bytes_are_wrong_even_when_nothing_is_said_of_parts() {
        let mut digests = Digests::new(Said::default());
        digests.update(b"some");
        assert!(digests.parts_are_right());
        assert!(!digests.finish(sha256(b"other")));
    }
}
