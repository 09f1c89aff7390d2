//! Which chunks are loaded: chunks end in any order, but only a prefix without a gap is remembered.

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct ChunkQueue {
    /// The end of each open or ended chunk, by its number, and whether it has ended.
    chunks: BTreeMap<u64, (u64, bool)>,
    next: u64,
}

impl ChunkQueue {
    /// A chunk with the requests up to this position. Returns its number.
    pub fn begin(&mut self, end: u64) -> u64 {
        let number = self.next;
        self.next += 1;
        self.chunks.insert(number, (end, false));
        number
    }

    /// The chunk is loaded. Returns up to where all are, if that has changed.
    pub fn end(&mut self, number: u64) -> Option<u64> {
        if let Some((_, has_ended)) = self.chunks.get_mut(&number) {
            *has_ended = true;
        }
        let mut loaded = None;
        while let Some(first) = self.chunks.first_entry() {
            let (end, has_ended) = *first.get();
            if !has_ended {
                break;
            }
            first.remove();
            loaded = Some(end);
        }
        loaded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_prefix_without_a_gap_counts() {
        let mut queue = ChunkQueue::default();
        let chunks = [10, 20, 30].map(|end| queue.begin(end));
        let [first, second, third] = chunks;
        assert_eq!(queue.end(second), None);
        assert_eq!(queue.end(first), Some(20));
        assert_eq!(queue.end(third), Some(30));
    }
}
