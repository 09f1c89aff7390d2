//! A limit on how much runs at the same time, in total and for each owner. It never waits.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

#[derive(Debug)]
pub struct ConcurrencyLimit<K: Eq + Hash> {
    max: usize,
    max_per_owner: usize,
    running: Mutex<RunningCounts<K>>,
}

#[derive(Debug)]
struct RunningCounts<K> {
    total: usize,
    /// Only owners with at least one.
    by_owner: HashMap<K, usize>,
}

/// One of the running ones, until it is dropped.
#[derive(Debug)]
pub struct OwnerPermit<K: Eq + Hash> {
    limit: Arc<ConcurrencyLimit<K>>,
    owner: K,
    count: usize,
}

impl<K: Eq + Hash + Clone> ConcurrencyLimit<K> {
    pub fn new(max: usize, max_per_owner: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            max_per_owner,
            running: Mutex::new(RunningCounts {
                total: 0,
                by_owner: HashMap::new(),
            }),
        })
    }

    /// None at one of the two limits.
    pub fn try_acquire(self: &Arc<Self>, owner: K) -> Option<OwnerPermit<K>> {
        self.try_acquire_many(owner, 1)
    }

    /// All of them, or none at one of the two limits.
    pub fn try_acquire_many(self: &Arc<Self>, owner: K, count: usize) -> Option<OwnerPermit<K>> {
        let mut running = self.running.lock();
        let total = running.total.checked_add(count)?;
        let of_owner = running.by_owner.get(&owner).copied().unwrap_or_default();
        let of_owner = of_owner.checked_add(count)?;
        if total > self.max || of_owner > self.max_per_owner {
            return None;
        }
        running.by_owner.insert(owner.clone(), of_owner);
        running.total = total;
        drop(running);
        Some(OwnerPermit {
            limit: Arc::clone(self),
            owner,
            count,
        })
    }
}

impl<K: Eq + Hash> ConcurrencyLimit<K> {
    /// How many are running.
    pub fn running(&self) -> usize {
        self.running.lock().total
    }
}

impl<K: Eq + Hash> Drop for OwnerPermit<K> {
    fn drop(&mut self) {
        let mut running = self.limit.running.lock();
        running.total -= self.count;
        if let Some(count) = running.by_owner.get_mut(&self.owner) {
            *count -= self.count;
            if *count == 0 {
                running.by_owner.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_has_its_share_and_all_have_the_total() {
        let limit = ConcurrencyLimit::new(3, 2);
        let first = limit.try_acquire("a");
        let second = limit.try_acquire("a");
        assert!(first.is_some() && second.is_some());
        assert!(limit.try_acquire("a").is_none());
        let third = limit.try_acquire("b");
        assert!(third.is_some());
        assert!(limit.try_acquire("c").is_none());
        drop(first);
        assert!(limit.try_acquire("c").is_some());
        drop((second, third));
        assert_eq!(limit.running(), 0);
        assert!(limit.running.lock().by_owner.is_empty());
    }

    #[test]
    fn several_are_acquired_together_or_not_at_all() {
        let limit = ConcurrencyLimit::new(10, 6);
        let six = limit.try_acquire_many("a", 6);
        assert!(six.is_some());
        assert!(limit.try_acquire("a").is_none());
        assert!(limit.try_acquire_many("b", 5).is_none());
        let four = limit.try_acquire_many("b", 4);
        assert_eq!((four.is_some(), limit.running()), (true, 10));
        drop((six, four));
        assert_eq!(limit.running(), 0);
    }
}
