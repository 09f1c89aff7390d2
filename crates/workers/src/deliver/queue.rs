//! Destinations with something due, in fair order. One without a free slot leaves the order until
//! a slot is released, so a step costs what it sends and not what waits.

use std::collections::{HashMap, HashSet};

use domain::host_pace::HostClass;
use domain::id::OrganizationId;
use domain::time::Timestamp;
use domain::turns::Ring;
use store::shard::delivery::{ClaimTurn, ClaimedDelivery, Destination, DueDestination};

use crate::callback_slots::{CallbackSlots, NoSlot};

/// How many destinations of one class take part in one claim.
const MAX_TURNS_PER_CLASS: usize = 128;
/// How many deliveries of one class one claim takes.
const MAX_CLAIMED_PER_CLASS: usize = 500;
/// How many destinations try again when one slot of their organization or host is released.
const MAX_UNBLOCKED_PER_SLOT: usize = 8;

/// Whose slots a destination waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum BlockedBy {
    Destination(Destination),
    Organization(OrganizationId),
    Host(String),
}

#[derive(Debug, Default)]
pub(super) struct DueQueue {
    rings: HashMap<HostClass, Ring<Destination>>,
    blocked: HashMap<BlockedBy, HashSet<Destination>>,
    /// Of everything in the queue: nothing of it is due before this.
    due_from: HashMap<Destination, Timestamp>,
}

impl DueQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.due_from.is_empty()
    }

    pub(super) fn enter(&mut self, due: DueDestination, slots: &CallbackSlots) {
        let DueDestination {
            destination,
            due_from,
        } = due;
        if let Some(known) = self.due_from.get_mut(&destination) {
            // Rows from before the position were committed late, or freed.
            *known = (*known).min(due_from);
            return;
        }
        self.due_from.insert(destination.clone(), due_from);
        self.line_up(destination, slots);
    }

    fn line_up(&mut self, destination: Destination, slots: &CallbackSlots) {
        let class = slots.class(&destination);
        self.rings.entry(class).or_default().enter(destination);
    }

    /// What the next claim may take. Quick hosts come first; each class has its own share.
    pub(super) fn turns(&mut self, slots: &CallbackSlots, now: Timestamp) -> Vec<ClaimTurn> {
        let mut turns = Vec::new();
        let mut planned = 0;
        for class in HostClass::ALL {
            let room = slots.class_room(class).min(MAX_CLAIMED_PER_CLASS);
            let room = room.min(slots.class_room(HostClass::Quick).saturating_sub(planned));
            let count = self.rings.get(&class).map_or(0, Ring::len);
            let parties = count.min(room).min(MAX_TURNS_PER_CLASS);
            for place in 0..parties {
                let Some(destination) = self.rings.get_mut(&class).and_then(Ring::pop) else {
                    break;
                };
                let share = room / parties + usize::from(place < room % parties);
                if let Some(turn) = self.turn(destination, share, slots, now) {
                    planned += turn.max;
                    turns.push(turn);
                }
            }
        }
        turns
    }

    fn turn(
        &mut self,
        destination: Destination,
        share: usize,
        slots: &CallbackSlots,
        now: Timestamp,
    ) -> Option<ClaimTurn> {
        let by = match slots.room(&destination, now) {
            Ok(room) => {
                let due_from = self.due_from.get(&destination).copied()?;
                return Some(ClaimTurn {
                    destination,
                    due_from,
                    max: room.min(share),
                });
            }
            // Its class is another one than it stood with, and full.
            Err(NoSlot::Class) => {
                self.line_up(destination, slots);
                return None;
            }
            Err(NoSlot::Destination) => BlockedBy::Destination(destination.clone()),
            Err(NoSlot::Organization) => BlockedBy::Organization(destination.organization),
            Err(NoSlot::Host) => BlockedBy::Host(destination.host.clone()),
        };
        self.blocked.entry(by).or_default().insert(destination);
        None
    }

    /// A destination that had less than its turn allowed has nothing left.
    pub(super) fn settle(
        &mut self,
        turns: Vec<ClaimTurn>,
        claimed: &[ClaimedDelivery],
        slots: &CallbackSlots,
    ) {
        let mut found: HashMap<&Destination, (usize, Timestamp)> = HashMap::new();
        for delivery in claimed {
            let (count, last) = found
                .entry(&delivery.destination)
                .or_insert((0, delivery.due_at));
            *count += 1;
            *last = (*last).max(delivery.due_at);
        }
        for turn in turns {
            match found.get(&turn.destination) {
                Some((count, last)) if *count >= turn.max => {
                    self.due_from.insert(turn.destination.clone(), *last);
                    self.line_up(turn.destination, slots);
                }
                Some(_) | None => {
                    self.due_from.remove(&turn.destination);
                }
            }
        }
    }

    /// The claim failed: its destinations wait as before.
    pub(super) fn restore(&mut self, turns: Vec<ClaimTurn>, slots: &CallbackSlots) {
        for turn in turns {
            self.line_up(turn.destination, slots);
        }
    }

    /// A slot of this destination was released.
    pub(super) fn unblock(&mut self, freed: Destination, slots: &CallbackSlots) {
        let by = [
            BlockedBy::Organization(freed.organization),
            BlockedBy::Host(freed.host.clone()),
            BlockedBy::Destination(freed),
        ];
        for by in by {
            let Some(waiting) = self.blocked.get_mut(&by) else {
                continue;
            };
            let some = waiting.iter().take(MAX_UNBLOCKED_PER_SLOT).cloned();
            let some: Vec<Destination> = some.collect();
            for destination in &some {
                waiting.remove(destination);
            }
            if waiting.is_empty() {
                self.blocked.remove(&by);
            }
            for destination in some {
                self.line_up(destination, slots);
            }
        }
    }

    /// Everything in the queue tries again.
    pub(super) fn unblock_all(&mut self, slots: &CallbackSlots) {
        let blocked = std::mem::take(&mut self.blocked);
        for destination in blocked.into_values().flatten() {
            self.line_up(destination, slots);
        }
    }
}

#[cfg(test)]
mod tests;
