//! A fair queue: round robin among waiting parties, independent of the size of their backlogs.
//!
//! Each round gives every party an equal share. A party with less leaves the rest to the others,
//! and the next round begins where this one stopped. The cost grows with the number of parties,
//! never with the backlogs.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

#[derive(Debug)]
pub struct FairQueue<K> {
    order: VecDeque<K>,
    known: HashSet<K>,
}

/// A waiting party, and the most items that it may take in this round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FairShare<K> {
    pub key: K,
    pub max_items: usize,
}

impl<K> Default for FairQueue<K> {
    fn default() -> Self {
        Self {
            order: VecDeque::new(),
            known: HashSet::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> FairQueue<K> {
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Adds a party at the back. A party that is already in the queue keeps its place.
    pub fn insert(&mut self, key: K) {
        if self.known.insert(key.clone()) {
            self.order.push_back(key);
        }
    }

    /// The shares of the next round: `room` items among at most `widest` parties.
    ///
    /// These parties move to the back of the queue, so a round that is cut short is continued,
    /// not repeated.
    pub fn next_round(&mut self, room: usize, widest: usize) -> Vec<FairShare<K>> {
        let parties = self.order.len().min(widest).min(room);
        if parties == 0 {
            return Vec::new();
        }
        let (share, rest) = (room / parties, room % parties);
        let mut turns = Vec::with_capacity(parties);
        for place in 0..parties {
            let Some(key) = self.order.pop_front() else {
                break;
            };
            self.order.push_back(key.clone());
            turns.push(FairShare {
                key,
                max_items: share + usize::from(place < rest),
            });
        }
        turns
    }

    /// Removes the next party. The caller inserts it again if it has items left.
    ///
    /// Its cost is constant, unlike that of [`FairQueue::remove_all`].
    pub fn pop(&mut self) -> Option<K> {
        let key = self.order.pop_front()?;
        self.known.remove(&key);
        Some(key)
    }

    pub fn contains(&self, key: &K) -> bool {
        self.known.contains(key)
    }

    /// Removes a party that has no items left.
    pub fn remove(&mut self, key: &K) {
        if self.known.remove(key) {
            self.order.retain(|other| other != key);
        }
    }

    /// As [`FairQueue::remove`] for many, in one pass over the queue.
    pub fn remove_all(&mut self, gone: &HashSet<K>) {
        if gone.is_empty() {
            return;
        }
        self.order.retain(|key| !gone.contains(key));
        self.known.retain(|key| !gone.contains(key));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Takes from every party in turn until `room` is filled or the queue is empty.
    fn gather(
        ring: &mut FairQueue<u32>,
        waiting: &mut HashMap<u32, usize>,
        room: usize,
    ) -> Vec<u32> {
        let mut taken = Vec::new();
        while taken.len() < room && !ring.is_empty() {
            let mut gone = HashSet::new();
            for turn in ring.next_round(room - taken.len(), usize::MAX) {
                let left = waiting.entry(turn.key).or_default();
                let took = turn.max_items.min(*left);
                *left -= took;
                taken.extend(std::iter::repeat_n(turn.key, took));
                if took < turn.max_items || *left == 0 {
                    gone.insert(turn.key);
                }
            }
            ring.remove_all(&gone);
        }
        taken
    }

    #[test]
    fn a_flood_leaves_room_for_one() {
        let mut waiting = HashMap::from([(1, 1_000_000), (2, 1), (3, 5)]);
        let mut ring = FairQueue::default();
        for key in [1, 2, 3] {
            ring.insert(key);
        }
        let taken = gather(&mut ring, &mut waiting, 100);
        assert_eq!(taken.len(), 100);
        let of = |key| taken.iter().filter(|taken| **taken == key).count();
        assert_eq!((of(1), of(2), of(3)), (94, 1, 5));
    }

    #[test]
    fn a_round_goes_on_where_the_last_one_stopped() {
        let mut ring = FairQueue::default();
        for key in 0..10 {
            ring.insert(key);
        }
        let keys =
            |turns: Vec<FairShare<i32>>| turns.into_iter().map(|turn| turn.key).collect::<Vec<_>>();
        assert_eq!(keys(ring.next_round(4, usize::MAX)), [0, 1, 2, 3]);
        assert_eq!(keys(ring.next_round(100, 3)), [4, 5, 6]);
        assert_eq!(keys(ring.next_round(5, usize::MAX)), [7, 8, 9, 0, 1]);
    }

    proptest! {
        #[test]
        fn shares_differ_by_at_most_one_round(sizes in prop::collection::vec(1_usize..500, 1..50), room in 1_usize..400) {
            let mut waiting: HashMap<u32, usize> = (0_u32..).zip(sizes.iter().copied()).collect();
            let mut ring = FairQueue::default();
            for key in waiting.keys().copied().collect::<Vec<_>>() {
                ring.insert(key);
            }
            let total: usize = sizes.iter().sum();
            let taken = gather(&mut ring, &mut waiting, room);
            prop_assert_eq!(taken.len(), room.min(total));
            // A party that still waits got at least as much as any other, less the remainder.
            let of = |key: u32| taken.iter().filter(|taken| **taken == key).count();
            let most = (0_u32..).take(sizes.len()).map(of).max().unwrap_or_default();
            for (key, left) in &waiting {
                if *left > 0 {
                    prop_assert!(of(*key) + 2 >= most.min(room / sizes.len()));
                }
            }
        }
    }
}
