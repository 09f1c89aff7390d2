//! Hashes a file while it is read: the whole and each part.

use domain::file::Sha256;
use domain::upload::PART_BYTES;
use sha2::Digest as _;

/// The part checksums that the caller declared, in order: at creation, at complete, both or none.
#[derive(Debug, Default)]
pub(super) struct DeclaredChecksums(pub(super) Vec<Vec<Option<Sha256>>>);

#[derive(Debug)]
pub(super) struct FileDigests {
    whole: sha2::Sha256,
    part: sha2::Sha256,
    part_bytes: u64,
    parts: usize,
    declared: DeclaredChecksums,
    is_matching: bool,
}

impl FileDigests {
    pub(super) fn new(said: DeclaredChecksums) -> Self {
        Self {
            whole: sha2::Sha256::new(),
            part: sha2::Sha256::new(),
            part_bytes: 0,
            parts: 0,
            declared: said,
            is_matching: true,
        }
    }

    /// False once a part differs from its declared checksum.
    pub(super) const fn is_matching(&self) -> bool {
        self.is_matching
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        self.whole.update(bytes);
        if self.declared.is_empty() {
            return;
        }
        while !bytes.is_empty() {
            let room = usize::try_from(PART_BYTES - self.part_bytes).unwrap_or(usize::MAX);
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            self.part.update(now);
            self.part_bytes += u64::try_from(now.len()).unwrap_or(u64::MAX);
            if self.part_bytes == PART_BYTES {
                self.end_part();
            }
            bytes = rest;
        }
    }

    /// Whether these are the declared bytes.
    pub(super) fn finish(mut self, declared: Sha256) -> bool {
        if self.part_bytes > 0 {
            self.end_part();
        }
        let whole = Sha256(self.whole.finalize().into());
        whole == declared && self.is_matching && self.declared.has_length(self.parts)
    }

    fn end_part(&mut self) {
        let found = Sha256(self.part.finalize_reset().into());
        self.is_matching &= self.declared.matches_part(self.parts, found);
        self.parts += 1;
        self.part_bytes = 0;
    }
}

impl DeclaredChecksums {
    const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn matches_part(&self, part: usize, found: Sha256) -> bool {
        let one = |list: &Vec<Option<Sha256>>| match list.get(part) {
            Some(said) => said.is_none_or(|said| said == found),
            None => false,
        };
        self.0.iter().all(one)
    }

    fn has_length(&self, parts: usize) -> bool {
        self.0.iter().all(|list| list.len() == parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha256(bytes: &[u8]) -> Sha256 {
        Sha256(sha2::Sha256::digest(bytes).into())
    }

    /// Two parts and a shorter one, all different.
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

    fn read(said: DeclaredChecksums, bytes: &[u8], piece: usize) -> (bool, bool) {
        let mut digests = FileDigests::new(said);
        for piece in bytes.chunks(piece) {
            digests.update(piece);
        }
        (digests.is_matching(), digests.finish(sha256(bytes)))
    }

    #[test]
    fn right_bytes_are_right_however_they_come() {
        let bytes = bytes();
        for piece in [1 << 20, (1 << 20) + 1, bytes.len()] {
            let (said, unsaid) = (parts(&bytes), vec![None; 3]);
            for lists in [vec![], vec![said.clone()], vec![said, unsaid]] {
                assert_eq!(
                    read(DeclaredChecksums(lists), &bytes, piece),
                    (true, true),
                    "{piece}"
                );
            }
        }
    }

    #[test]
    fn a_part_that_is_another_is_known_when_it_ends() {
        let bytes = bytes();
        let mut swapped = parts(&bytes);
        swapped.swap(0, 1);
        let mut digests = FileDigests::new(DeclaredChecksums(vec![parts(&bytes), swapped]));
        let part = usize::try_from(PART_BYTES).unwrap();
        digests.update(&bytes[..part - 1]);
        assert!(digests.is_matching());
        digests.update(&bytes[part - 1..part]);
        assert!(!digests.is_matching());
    }

    #[test]
    fn a_list_of_another_length_is_wrong() {
        let bytes = bytes();
        for length in [0, 2, 4] {
            let mut list = parts(&bytes);
            list.resize(length, None);
            assert!(
                !read(DeclaredChecksums(vec![list]), &bytes, 1 << 20).1,
                "{length}"
            );
        }
    }

    #[test]
    fn other_bytes_are_wrong_even_when_nothing_is_said_of_parts() {
        let mut digests = FileDigests::new(DeclaredChecksums::default());
        digests.update(b"some");
        assert!(digests.is_matching());
        assert!(!digests.finish(sha256(b"other")));
    }
}
