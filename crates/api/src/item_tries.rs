//! How often an item of a batch has failed with an internal error.

use std::collections::HashMap;

use domain::id::GroupId;
use parking_lot::Mutex;

/// Errors of more items than this are forgotten, which costs some of them a further try.
const MAX_COUNTED_ITEMS: usize = 10_000;

/// The tries of this process. Another process counts its own.
#[derive(Debug, Default)]
pub(crate) struct ItemTries(Mutex<HashMap<ItemPlace, u32>>);

/// An item of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ItemPlace {
    pub(crate) group: GroupId,
    pub(crate) position: u64,
}

impl ItemTries {
    /// Counts one more, and returns how many there are.
    pub(crate) fn add(&self, place: ItemPlace) -> u32 {
        let mut tries = self.0.lock();
        if tries.len() >= MAX_COUNTED_ITEMS && !tries.contains_key(&place) {
            tries.clear();
        }
        let count = tries.entry(place).or_default();
        *count += 1;
        *count
    }

    /// The batch has ended.
    pub(crate) fn forget(&self, group: GroupId) {
        self.0.lock().retain(|place, _| place.group != group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_counted_each_for_itself() {
        let text = "grp_019b76da807b774b805000000000002a";
        let group: GroupId = text.parse().unwrap();
        let place = |position| ItemPlace { group, position };
        let tries = ItemTries::default();
        assert_eq!([1, 1, 2].map(|it| tries.add(place(it))), [1, 2, 1]);
        tries.forget(group);
        assert_eq!(tries.add(place(1)), 1);
    }
}
