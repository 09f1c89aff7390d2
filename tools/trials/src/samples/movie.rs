//! A valid video of any size that is never in memory or on disk as a whole.
//!
//! The head and the index are real; between them lies noise, made from its
//! offset, so that any part can be made at any time.

use bytes::Bytes;

use crate::digest::Digest;
use crate::samples::video;

/// What is made at once when all of it is read.
const BLOCK: u64 = 1 << 20;
/// Seconds that the one frame is shown.
const LENGTH: u32 = 60;

#[derive(Debug, Clone)]
pub struct Movie {
    pub size: u64,
    seed: u64,
    /// Up to the noise.
    head: Vec<u8>,
    /// After the noise.
    index: Vec<u8>,
    /// Something hidden in the noise, and where.
    hidden: Option<(u64, Vec<u8>)>,
}

impl Movie {
    /// A video of exactly so many bytes, a few thousand at least.
    pub fn new(size: u64) -> Self {
        let mut head = video::head(b"isom\0\0\x02\0isomiso2avc1mp41");
        let frame_at = super::length_of(&head) + 16;
        let index = video::movie(frame_at, LENGTH);
        let media = size - (wide(&head) + wide(&index));
        // The long form of a box: 1, its name, and eight bytes of length.
        head.extend_from_slice(b"\0\0\0\x01mdat");
        head.extend_from_slice(&media.to_be_bytes());
        head.extend(video::frame());
        Self {
            size,
            seed: rand::random(),
            head,
            index,
            hidden: None,
        }
    }

    /// The same with something in it at this offset.
    #[must_use]
    pub fn hiding(mut self, offset: u64, what: Vec<u8>) -> Self {
        self.hidden = Some((offset, what));
        self
    }

    /// The bytes from an offset on, so many or up to the end.
    pub fn part(&self, from: u64, most: u64) -> Bytes {
        let until = self.size.min(from.saturating_add(most));
        let mut bytes = Vec::with_capacity(usize::try_from(until - from).unwrap_or_default() + 8);
        let mut word = from / 8;
        while word * 8 < until {
            bytes.extend_from_slice(&noise(self.seed, word).to_le_bytes());
            word += 1;
        }
        let skipped = usize::try_from(from % 8).unwrap_or_default();
        bytes.drain(..skipped);
        bytes.truncate(usize::try_from(until - from).unwrap_or_default());
        lay(&mut bytes, from, 0, &self.head);
        lay(&mut bytes, from, self.size - wide(&self.index), &self.index);
        if let Some((offset, what)) = &self.hidden {
            lay(&mut bytes, from, *offset, what);
        }
        bytes.into()
    }

    pub fn sha256(&self) -> String {
        let mut digest = Digest::new();
        let mut from = 0;
        while from < self.size {
            digest.update(&self.part(from, BLOCK));
            from += BLOCK;
        }
        digest.hex()
    }
}

/// Puts `what`, which belongs at `offset`, into bytes that begin at `from`.
fn lay(bytes: &mut [u8], from: u64, offset: u64, what: &[u8]) {
    for (place, byte) in (offset..).zip(what) {
        let place = place
            .checked_sub(from)
            .and_then(|place| usize::try_from(place).ok());
        if let Some(there) = place.and_then(|place| bytes.get_mut(place)) {
            *there = *byte;
        }
    }
}

fn wide(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or_default()
}

/// splitmix64: no two words alike, and as quick as writing them.
const fn noise(seed: u64, word: u64) -> u64 {
    let mut mixed = seed.wrapping_add(word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::hex_of;

    #[test]
    fn parts_are_the_whole_wherever_they_are_cut() {
        let movie = Movie::new(100_003).hiding(70_001, b"needle".to_vec());
        let whole = movie.part(0, u64::MAX);
        assert_eq!(whole.len(), 100_003);
        let parts = [
            movie.part(0, 777),
            movie.part(777, 69_226),
            movie.part(70_003, 100_000),
        ];
        assert_eq!(parts.concat(), whole);
        assert_eq!(movie.sha256(), hex_of(&whole));
        assert_eq!(&whole[70_001..70_007], b"needle");
    }

    #[test]
    fn its_boxes_fill_it() {
        let movie = Movie::new(1 << 20);
        let whole = movie.part(0, u64::MAX);
        let (mut place, mut names) = (0, Vec::new());
        while place < whole.len() {
            let word = |at: usize| whole[at..at + 4].try_into().map(u32::from_be_bytes);
            let mut length = u64::from(word(place).unwrap());
            if length == 1 {
                length = u64::from_be_bytes(whole[place + 8..place + 16].try_into().unwrap());
            }
            names.push(String::from_utf8_lossy(&whole[place + 4..place + 8]).into_owned());
            place += usize::try_from(length).unwrap();
        }
        assert_eq!(
            (place, names.join(" ").as_str()),
            (1 << 20, "ftyp free mdat moov")
        );
    }
}
