//! A valid video of any size that is never completely in memory or on disk.
//!
//! The head and the index are real. The bytes between them are noise, computed from their
//! offset, so that any part can be generated at any time.

use bytes::Bytes;

use crate::harness::StreamingSha256;
use crate::harness::sample_files::video;

/// Bytes that are generated at once for the digest.
const BLOCK_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct GeneratedVideo {
    pub size: u64,
    seed: u64,
    /// Everything before the noise.
    head: Vec<u8>,
    /// Everything after the noise.
    index: Vec<u8>,
    /// Bytes hidden in the noise, and their offset.
    hidden: Option<(u64, Vec<u8>)>,
}

impl GeneratedVideo {
    /// A video of exactly `size` bytes, at least a few thousand.
    pub fn new(size: u64) -> Self {
        let mut head = video::file_header(video::MP4_TYPE);
        let index = video::index(super::length_u32(&head) + 16);
        let media = size - (length_u64(&head) + length_u64(&index));
        // The long form of a box: 1, its name, and eight bytes of length.
        head.extend_from_slice(b"\0\0\0\x01mdat");
        head.extend_from_slice(&media.to_be_bytes());
        head.extend_from_slice(video::FRAME);
        Self {
            size,
            seed: rand::random(),
            head,
            index,
            hidden: None,
        }
    }

    /// The same with these bytes at this offset.
    #[must_use]
    pub fn with_hidden(mut self, offset: u64, what: Vec<u8>) -> Self {
        self.hidden = Some((offset, what));
        self
    }

    /// Up to `most` bytes from an offset on.
    pub fn part(&self, from: u64, most: u64) -> Bytes {
        let until = self.size.min(from.saturating_add(most));
        let mut bytes = Vec::with_capacity(usize::try_from(until - from).unwrap_or_default() + 8);
        let mut word = from / 8;
        while word * 8 < until {
            bytes.extend_from_slice(&noise_word(self.seed, word).to_le_bytes());
            word += 1;
        }
        let skipped = usize::try_from(from % 8).unwrap_or_default();
        bytes.drain(..skipped);
        bytes.truncate(usize::try_from(until - from).unwrap_or_default());
        overlay(&mut bytes, from, 0, &self.head);
        overlay(
            &mut bytes,
            from,
            self.size - length_u64(&self.index),
            &self.index,
        );
        if let Some((offset, what)) = &self.hidden {
            overlay(&mut bytes, from, *offset, what);
        }
        bytes.into()
    }

    pub fn sha256(&self) -> String {
        let mut digest = StreamingSha256::default();
        let mut from = 0;
        while from < self.size {
            digest.update(&self.part(from, BLOCK_BYTES));
            from += BLOCK_BYTES;
        }
        digest.finish_hex()
    }
}

/// Writes `what`, which belongs at `offset`, into bytes that begin at `from`.
fn overlay(bytes: &mut [u8], from: u64, offset: u64, what: &[u8]) {
    for (place, byte) in (offset..).zip(what) {
        let place = place
            .checked_sub(from)
            .and_then(|place| usize::try_from(place).ok());
        if let Some(there) = place.and_then(|place| bytes.get_mut(place)) {
            *there = *byte;
        }
    }
}

fn length_u64(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or_default()
}

/// splitmix64: no two words are equal, and it is as fast as writing them.
const fn noise_word(seed: u64, word: u64) -> u64 {
    let mut mixed = seed.wrapping_add(word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::sha256::sha256_hex;

    #[test]
    fn parts_are_the_whole_wherever_they_are_cut() {
        let movie = GeneratedVideo::new(100_003).with_hidden(70_001, b"needle".to_vec());
        let whole = movie.part(0, u64::MAX);
        assert_eq!(whole.len(), 100_003);
        let parts = [
            movie.part(0, 777),
            movie.part(777, 69_226),
            movie.part(70_003, 100_000),
        ];
        assert_eq!(parts.concat(), whole);
        assert_eq!(movie.sha256(), sha256_hex(&whole));
        assert_eq!(&whole[70_001..70_007], b"needle");
    }

    #[test]
    fn its_boxes_fill_it() {
        let movie = GeneratedVideo::new(1 << 20);
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
