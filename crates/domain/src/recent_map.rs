//! A bounded map that keeps recently changed entries and drops the rest.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// Two generations: when the young one is full it becomes the old one, and the old one is
/// dropped. So every entry that was changed among the last `capacity` different keys is there.
#[derive(Debug)]
pub struct RecentMap<K, V> {
    capacity: usize,
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K: Eq + Hash, V: Clone> RecentMap<K, V> {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            young: HashMap::new(),
            old: HashMap::new(),
        }
    }

    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    pub fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.capacity && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_keys_take_the_room_of_two_generations() {
        let mut map = RecentMap::new(100);
        for key in 0..1_000_000 {
            map.insert(key, key);
        }
        assert!(map.len() <= 200);
        assert_eq!(map.get(&999_950), Some(&999_950));
        assert_eq!(map.get(&0), None);
    }

    #[test]
    fn what_is_used_is_kept() {
        let mut map = RecentMap::new(10);
        for key in 0..1000 {
            map.insert(key, key);
            map.insert(-1, key);
        }
        assert_eq!(map.get(&-1), Some(&999));
    }
}
