//! A fair queue of destinations with due callbacks. A destination without a free slot leaves the
//! queue until a slot is released, so that the cost of a step follows what it sends and not the
//! backlog.

use std::collections::{HashMap, HashSet};

use domain::fair_queueing::FairQueue;
use domain::host_pace::HostClass;
use domain::id::OrganizationId;
use domain::time::Timestamp;
use store::shard::delivery::{ClaimedDelivery, DeliveryClaimQuota, Destination, DueDestination};

use crate::callback_slots::{CallbackSlots, NoSlotReason};

/// How many destinations of one class take part in one claim.
const MAX_DESTINATIONS_PER_CLASS: usize = 128;
/// How many deliveries of one class one claim takes.
const MAX_CLAIMED_PER_CLASS: usize = 500;
/// How many destinations try again when one slot of their organization or host is released.
const MAX_UNBLOCKED_PER_SLOT: usize = 8;

/// Whose slots a destination waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum SlotOwner {
    Destination(Destination),
    Organization(OrganizationId),
    Host(String),
}

#[derive(Debug, Default)]
pub(super) struct DueQueue {
    fair_queues: HashMap<HostClass, FairQueue<Destination>>,
    blocked: HashMap<SlotOwner, HashSet<Destination>>,
    /// For each destination in the queue: nothing is due before this.
    due_from: HashMap<Destination, Timestamp>,
}

impl DueQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.due_from.is_empty()
    }

    pub(super) fn add(&mut self, due: DueDestination, slots: &CallbackSlots) {
        let DueDestination {
            destination,
            due_from,
        } = due;
        if let Some(known) = self.due_from.get_mut(&destination) {
            // Rows before the position were committed late, or freed.
            *known = (*known).min(due_from);
            return;
        }
        self.due_from.insert(destination.clone(), due_from);
        self.enqueue(destination, slots);
    }

    fn enqueue(&mut self, destination: Destination, slots: &CallbackSlots) {
        let class = slots.class(&destination);
        self.fair_queues
            .entry(class)
            .or_default()
            .insert(destination);
    }

    /// What the next claim may take. Quick hosts come first; each class has its share.
    pub(super) fn next_quotas(
        &mut self,
        slots: &CallbackSlots,
        now: Timestamp,
    ) -> Vec<DeliveryClaimQuota> {
        let mut turns = Vec::new();
        let mut planned = 0;
        for class in HostClass::ALL {
            let room = slots.free_slots_of_class(class).min(MAX_CLAIMED_PER_CLASS);
            let room = room.min(
                slots
                    .free_slots_of_class(HostClass::Quick)
                    .saturating_sub(planned),
            );
            let count = self.fair_queues.get(&class).map_or(0, FairQueue::len);
            let parties = count.min(room).min(MAX_DESTINATIONS_PER_CLASS);
            for place in 0..parties {
                let Some(destination) = self.fair_queues.get_mut(&class).and_then(FairQueue::pop)
                else {
                    break;
                };
                let share = room / parties + usize::from(place < room % parties);
                if let Some(turn) = self.plan_quota(destination, share, slots, now) {
                    planned += turn.max;
                    turns.push(turn);
                }
            }
        }
        turns
    }

    fn plan_quota(
        &mut self,
        destination: Destination,
        share: usize,
        slots: &CallbackSlots,
        now: Timestamp,
    ) -> Option<DeliveryClaimQuota> {
        let by = match slots.free_slots(&destination, now) {
            Ok(room) => {
                let due_from = self.due_from.get(&destination).copied()?;
                return Some(DeliveryClaimQuota {
                    destination,
                    due_from,
                    max: room.min(share),
                });
            }
            // Its class has changed, and the new one is full.
            Err(NoSlotReason::Class) => {
                self.enqueue(destination, slots);
                return None;
            }
            Err(NoSlotReason::Destination) => SlotOwner::Destination(destination.clone()),
            Err(NoSlotReason::Organization) => SlotOwner::Organization(destination.organization),
            Err(NoSlotReason::Host) => SlotOwner::Host(destination.host.clone()),
        };
        self.blocked.entry(by).or_default().insert(destination);
        None
    }

    /// Applies a claim. A destination that had less than its quota leaves the queue.
    pub(super) fn apply_claim(
        &mut self,
        turns: Vec<DeliveryClaimQuota>,
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
                    self.enqueue(turn.destination, slots);
                }
                Some(_) | None => {
                    self.due_from.remove(&turn.destination);
                }
            }
        }
    }

    /// Puts the destinations of a failed claim back.
    pub(super) fn restore(&mut self, turns: Vec<DeliveryClaimQuota>, slots: &CallbackSlots) {
        for turn in turns {
            self.enqueue(turn.destination, slots);
        }
    }

    /// Lets destinations try again after a slot of this destination was released.
    pub(super) fn unblock(&mut self, freed: Destination, slots: &CallbackSlots) {
        let by = [
            SlotOwner::Organization(freed.organization),
            SlotOwner::Host(freed.host.clone()),
            SlotOwner::Destination(freed),
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
                self.enqueue(destination, slots);
            }
        }
    }

    /// Lets all destinations try again.
    pub(super) fn unblock_all(&mut self, slots: &CallbackSlots) {
        let blocked = std::mem::take(&mut self.blocked);
        for destination in blocked.into_values().flatten() {
            self.enqueue(destination, slots);
        }
    }
}

#[cfg(test)]
mod tests;
