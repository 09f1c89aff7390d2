//! Fair turns: who may take how much next, whatever the size of their backlog.
//!
//! A ring of those who wait. Each round gives everyone an equal share; who has
//! less leaves the rest to the others, and the next round begins where this
//! one stopped. The cost follows the ring, never the backlog.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

#[derive(Debug)]
pub struct Ring<K> {
    order: VecDeque<K>,
    known: HashSet<K>,
}

/// One waiting party and the most it may take in this round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn<K> {
    pub key: K,
    pub most: usize,
}

impl<K> Default for Ring<K> {
    fn default() -> Self {
        Self {
            order: VecDeque::new(),
            known: HashSet::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> Ring<K> {
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Someone waits. Who stands in the ring already keeps the place.
    pub fn enter(&mut self, key: K) {
        if self.known.insert(key.clone()) {
            self.order.push_back(key);
        }
    }

    /// The turns of the next round for `room` items among at most `widest` parties.
    ///
    /// They move to the back of the ring, so a round that is cut short is continued,
    /// not repeated.
    pub fn round(&mut self, room: usize, widest: usize) -> Vec<Turn<K>> {
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
            turns.push(Turn {
                key,
                most: share + usize::from(place < rest),
            });
        }
        turns
    }

    /// Takes the next party out of the ring. The caller enters it again if something is left.
    ///
    /// Its cost does not follow the ring, as that of [`Ring::leave_all`] does.
    pub fn pop(&mut self) -> Option<K> {
        let key = self.order.pop_front()?;
        self.known.remove(&key);
        Some(key)
    }

    pub fn contains(&self, key: &K) -> bool {
        self.known.contains(key)
    }

    /// Nothing of this party waits any more.
    pub fn leave(&mut self, key: &K) {
        if self.known.remove(key) {
            self.order.retain(|other| other != key);
        }
    }

    /// As [`Ring::leave`] for many, in one pass over the ring.
    pub fn leave_all(&mut self, gone: &HashSet<K>) {
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

    /// Takes from everyone in turn until `room` is filled or nothing waits.
    fn gather(ring: &mut Ring<u32>, waiting: &mut HashMap<u32, usize>, room: usize) -> Vec<u32> {
        let mut taken = Vec::new();
        while taken.len() < room && !ring.is_empty() {
            let mut gone = HashSet::new();
            for turn in ring.round(room - taken.len(), usize::MAX) {
                let left = waiting.entry(turn.key).or_default();
                let took = turn.most.min(*left);
                *left -= took;
                taken.extend(std::iter::repeat_n(turn.key, took));
                if took < turn.most || *left == 0 {
                    gone.insert(turn.key);
                }
            }
            ring.leave_all(&gone);
        }
        taken
    }

    #[test]
    fn a_flood_leaves_room_for_one() {
        let mut waiting = HashMap::from([(1, 1_000_000), (2, 1), (3, 5)]);
        let mut ring = Ring::default();
        for key in [1, 2, 3] {
            ring.enter(key);
        }
        let taken = gather(&mut ring, &mut waiting, 100);
        assert_eq!(taken.len(), 100);
        let of = |key| taken.iter().filter(|taken| **taken == key).count();
        assert_eq!((of(1), of(2), of(3)), (94, 1, 5));
    }

    #[test]
    fn a_round_goes_on_where_the_last_one_stopped() {
        let mut ring = Ring::default();
        for key in 0..10 {
            ring.enter(key);
        }
        let keys =
            |turns: Vec<Turn<i32>>| turns.into_iter().map(|turn| turn.key).collect::<Vec<_>>();
        assert_eq!(keys(ring.round(4, usize::MAX)), [0, 1, 2, 3]);
        assert_eq!(keys(ring.round(100, 3)), [4, 5, 6]);
        assert_eq!(keys(ring.round(5, usize::MAX)), [7, 8, 9, 0, 1]);
    }

    proptest! {
        #[test]
        fn shares_differ_by_at_most_one_round(sizes in prop::collection::vec(1_usize..500, 1..50), room in 1_usize..400) {
            let mut waiting: HashMap<u32, usize> = (0_u32..).zip(sizes.iter().copied()).collect();
            let mut ring = Ring::default();
            for key in waiting.keys().copied().collect::<Vec<_>>() {
                ring.enter(key);
            }
            let total: usize = sizes.iter().sum();
            let taken = gather(&mut ring, &mut waiting, room);
            prop_assert_eq!(taken.len(), room.min(total));
            // Whoever still waits got at least as much as anyone else, less the odd one out.
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
