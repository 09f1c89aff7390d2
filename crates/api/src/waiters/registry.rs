//! The waiting requests of a shard, by what they wait for.

use std::collections::HashMap;
use std::sync::Arc;

use domain::id::{CargoId, GroupId};
use parking_lot::Mutex;
use store::shard::completion::CompletedCargoState;
use store::shard::feed::FeedEntry;
use tokio::sync::Notify;

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitMilestone {
    Completed,
    /// The callback was delivered or failed for good, or there is none.
    Delivered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum AwaitedRow {
    Cargo(CargoId),
    Group(GroupId),
}

#[derive(Debug, Default)]
pub(super) struct WaiterRegistry {
    waiters: Mutex<WaitersByRow>,
    waiter_added: Notify,
}

#[derive(Debug, Default)]
struct WaitersByRow {
    next_number: u64,
    /// Only rows that a request waits for.
    by_row: HashMap<AwaitedRow, Vec<RegisteredWaiter>>,
}

#[derive(Debug)]
struct RegisteredWaiter {
    number: u64,
    milestone: WaitMilestone,
    wakeup: Arc<Notify>,
}

/// One request in the registry, until it is dropped.
#[derive(Debug)]
pub(super) struct Registration {
    registry: Arc<WaiterRegistry>,
    number: u64,
    rows: Vec<AwaitedRow>,
    wakeup: Arc<Notify>,
}

impl WaiterRegistry {
    pub(super) fn add(
        registry: &Arc<Self>,
        rows: Vec<AwaitedRow>,
        milestone: WaitMilestone,
    ) -> Registration {
        let wakeup = Arc::new(Notify::new());
        let mut waiters = registry.waiters.lock();
        let number = waiters.next_number;
        waiters.next_number += 1;
        for row in &rows {
            let of_row = waiters.by_row.entry(*row).or_default();
            of_row.push(RegisteredWaiter {
                number,
                milestone,
                wakeup: Arc::clone(&wakeup),
            });
        }
        drop(waiters);
        registry.waiter_added.notify_one();
        Registration {
            registry: Arc::clone(registry),
            number,
            rows,
            wakeup,
        }
    }

    /// Completes when a request was added, perhaps before the call.
    pub(super) async fn wait_for_waiters(&self) {
        self.waiter_added.notified().await;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.lock().by_row.is_empty()
    }

    pub(super) fn awaited_cargo(&self) -> Vec<CargoId> {
        let waiters = self.waiters.lock();
        let cargo = waiters.by_row.keys().filter_map(|row| match row {
            AwaitedRow::Cargo(cargo) => Some(*cargo),
            AwaitedRow::Group(_) => None,
        });
        cargo.collect()
    }

    /// Wakes all requests for a cargo or a group of the entry.
    pub(super) fn wake_for_entry(&self, entry: &FeedEntry) {
        let cargo = entry.cargo.iter().copied().map(AwaitedRow::Cargo);
        let groups = entry.groups.iter().copied().map(AwaitedRow::Group);
        let waiters = self.waiters.lock();
        for row in cargo.chain(groups) {
            let of_row = waiters.by_row.get(&row).into_iter().flatten();
            of_row.for_each(RegisteredWaiter::wake);
        }
    }

    /// Wakes the requests for this cargo whose milestone is reached.
    pub(super) fn wake_for_state(&self, state: CompletedCargoState) {
        let waiters = self.waiters.lock();
        let row = AwaitedRow::Cargo(state.cargo);
        for waiter in waiters.by_row.get(&row).into_iter().flatten() {
            let is_reached = match waiter.milestone {
                WaitMilestone::Completed => true,
                WaitMilestone::Delivered => state.is_callback_ended,
            };
            if is_reached {
                waiter.wake();
            }
        }
    }

    /// Wakes all requests for groups: only they know which results they have seen.
    pub(super) fn wake_for_groups(&self) {
        let waiters = self.waiters.lock();
        for (row, of_row) in &waiters.by_row {
            match row {
                AwaitedRow::Group(_) => of_row.iter().for_each(RegisteredWaiter::wake),
                AwaitedRow::Cargo(_) => {}
            }
        }
    }
}

impl RegisteredWaiter {
    /// A request that does not wait at the moment is woken when it waits again.
    fn wake(&self) {
        self.wakeup.notify_one();
    }
}

impl Registration {
    pub(super) async fn woken(&self) {
        self.wakeup.notified().await;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut waiters = self.registry.waiters.lock();
        for row in &self.rows {
            if let Some(of_row) = waiters.by_row.get_mut(row) {
                of_row.retain(|waiter| waiter.number != self.number);
                if of_row.is_empty() {
                    waiters.by_row.remove(row);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::id::Berth;
    use tokio::time::timeout;

    use super::*;

    fn cargo(number: u64) -> CargoId {
        CargoId::new(<_>::default(), Berth::new(0).unwrap(), number)
    }

    fn add(
        registry: &Arc<WaiterRegistry>,
        numbers: &[u64],
        milestone: WaitMilestone,
    ) -> Registration {
        let rows = numbers.iter().map(|it| AwaitedRow::Cargo(cargo(*it)));
        WaiterRegistry::add(registry, rows.collect(), milestone)
    }

    async fn is_woken(registration: &Registration) -> bool {
        timeout(Duration::ZERO, registration.woken()).await.is_ok()
    }

    #[tokio::test]
    async fn an_entry_wakes_the_requests_for_its_cargo_and_groups() {
        let registry = Arc::<WaiterRegistry>::default();
        let group = GroupId::new(<_>::default(), Berth::new(0).unwrap(), 1);
        let both = add(&registry, &[1, 2], WaitMilestone::Completed);
        let other = add(&registry, &[3], WaitMilestone::Completed);
        let rows = vec![AwaitedRow::Group(group)];
        let of_group = WaiterRegistry::add(&registry, rows, WaitMilestone::Completed);
        let entry = FeedEntry {
            id: 1,
            cargo: vec![cargo(2), cargo(9)],
            groups: vec![group],
        };
        registry.wake_for_entry(&entry);
        assert!(is_woken(&both).await);
        // Once for each change.
        assert!(!is_woken(&both).await);
        assert!(!is_woken(&other).await);
        assert!(is_woken(&of_group).await);
        registry.wake_for_groups();
        assert!(is_woken(&of_group).await);
        assert!(!is_woken(&other).await);
    }

    #[tokio::test]
    async fn a_state_wakes_the_requests_whose_milestone_it_reaches() {
        let registry = Arc::<WaiterRegistry>::default();
        let completed = add(&registry, &[1], WaitMilestone::Completed);
        let delivered = add(&registry, &[1], WaitMilestone::Delivered);
        let state = |is_callback_ended| CompletedCargoState {
            cargo: cargo(1),
            is_callback_ended,
        };
        registry.wake_for_state(state(false));
        assert!(is_woken(&completed).await);
        assert!(!is_woken(&delivered).await);
        registry.wake_for_state(state(true));
        assert!(is_woken(&delivered).await);
    }

    #[test]
    fn a_dropped_request_leaves_nothing() {
        let registry = Arc::<WaiterRegistry>::default();
        let first = add(&registry, &[1, 2], WaitMilestone::Completed);
        let second = add(&registry, &[2], WaitMilestone::Completed);
        drop(first);
        assert_eq!(registry.awaited_cargo(), [cargo(2)]);
        assert!(!registry.is_empty());
        drop(second);
        assert!(registry.is_empty());
    }
}
