//! Slots for callbacks in flight on this node, and the memory that their payloads take.
//!
//! Each destination has as many slots as its answers earn, and hosts that are unknown, slow or
//! failing share a part of all slots. So one receiver, or nine of ten, cannot take them all. What
//! finds no slot waits in its row.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use domain::host_pace::{HostAnswer, HostClass};
use domain::id::CargoId;
use domain::time::Timestamp;
use store::shard::delivery::Destination;
use store::shard::node::Claim;

use crate::stage::Bell;

mod state;

use state::SlotState;
pub(crate) use state::{InUse, NoSlot};

/// What bounds the callbacks in flight.
#[derive(Debug, Clone, Copy)]
pub struct CallbackLimits {
    pub slots: usize,
    /// To one host of one organization, however quick it is.
    pub per_destination: usize,
    /// All payloads in flight together, unpacked.
    pub payload_bytes: usize,
}

/// A callback that this node has claimed and makes next.
#[derive(Debug)]
pub(crate) struct PendingCallback {
    pub(crate) cargo: CargoId,
    pub(crate) destination: Destination,
    pub(crate) url: String,
    pub(crate) number: u32,
    /// A person asked for it again: one attempt, whatever its result.
    pub(crate) is_resend: bool,
    pub(crate) due_at: Timestamp,
    pub(crate) claim: Claim,
    /// How much of the payload budget it holds.
    pub(crate) bytes: usize,
    pub(crate) payload: Bytes,
}

#[derive(Debug, Clone)]
pub(crate) struct CallbackSlots {
    shared: Arc<Mutex<Shared>>,
    handed_over: Bell,
}

#[derive(Debug)]
struct Shared {
    state: SlotState,
    /// Callbacks of outcomes that were stored here a moment ago.
    handed_over: Vec<PendingCallback>,
    /// Cargo whose callback this node makes and has not recorded yet.
    held: HashSet<CargoId>,
    /// Destinations of which a slot was released since the last look.
    freed: HashSet<Destination>,
    /// A statement that claims may have been committed although it failed here.
    is_claim_in_doubt: bool,
}

impl CallbackSlots {
    pub(crate) fn new(limits: CallbackLimits, handed_over: Bell) -> Self {
        let shared = Shared {
            state: SlotState::new(limits),
            handed_over: Vec::new(),
            held: HashSet::new(),
            freed: HashSet::new(),
            is_claim_in_doubt: false,
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
            handed_over,
        }
    }

    pub(crate) fn class(&self, destination: &Destination) -> HostClass {
        self.lock().state.class(destination)
    }

    pub(crate) fn class_room(&self, class: HostClass) -> usize {
        self.lock().state.class_room(class)
    }

    pub(crate) fn in_use(&self, class: HostClass) -> InUse {
        self.lock().state.in_use(class)
    }

    /// How many more callbacks this destination may have in flight.
    pub(crate) fn room(&self, destination: &Destination, now: Timestamp) -> Result<usize, NoSlot> {
        self.lock().state.room(destination, now)
    }

    /// Takes a slot and the memory of a payload, if there are both.
    pub(crate) fn reserve(&self, destination: &Destination, bytes: usize, now: Timestamp) -> bool {
        let state = &mut self.lock().state;
        if state.room(destination, now).is_err() || !state.fits(destination, bytes) {
            return false;
        }
        state.take(destination, now);
        state.add_bytes(destination, bytes);
        true
    }

    /// Takes a slot for a delivery that is claimed already, even if a limit is exceeded by it.
    pub(crate) fn take(&self, cargo: CargoId, destination: &Destination, now: Timestamp) {
        let mut shared = self.lock();
        shared.held.insert(cargo);
        shared.state.take(destination, now);
    }

    /// Takes the memory of a payload whose slot is taken.
    pub(crate) fn reserve_bytes(&self, destination: &Destination, bytes: usize) -> bool {
        let state = &mut self.lock().state;
        let fits = state.fits(destination, bytes);
        if fits {
            state.add_bytes(destination, bytes);
        }
        fits
    }

    pub(crate) fn release_bytes(&self, destination: &Destination, bytes: usize) {
        self.lock().state.remove_bytes(destination, bytes);
    }

    /// Gives a slot back; the host's answer, if there was one, adapts its limit.
    pub(crate) fn release(
        &self,
        destination: &Destination,
        bytes: usize,
        answer: Option<HostAnswer>,
        now: Timestamp,
    ) {
        let mut shared = self.lock();
        shared.state.release(destination, bytes, answer, now);
        shared.freed.insert(destination.clone());
    }

    pub(crate) fn take_freed(&self) -> HashSet<Destination> {
        std::mem::take(&mut self.lock().freed)
    }

    /// Those of some cargo whose callbacks this process knows nothing of.
    pub(crate) fn unknown(&self, cargo: Vec<CargoId>) -> HashSet<CargoId> {
        let shared = self.lock();
        let unknown = cargo.into_iter().filter(|id| !shared.held.contains(id));
        unknown.collect()
    }

    /// These callbacks are recorded, or no longer this node's.
    pub(crate) fn forget(&self, cargo: impl IntoIterator<Item = CargoId>) {
        let mut shared = self.lock();
        for id in cargo {
            shared.held.remove(&id);
        }
    }

    /// Hands over callbacks whose rows were written; the others give their slots back.
    pub(crate) fn hand_over(
        &self,
        pending: Vec<PendingCallback>,
        written: &HashSet<CargoId>,
        now: Timestamp,
    ) {
        let mut shared = self.lock();
        for callback in pending {
            if written.contains(&callback.cargo) {
                shared.held.insert(callback.cargo);
                shared.handed_over.push(callback);
            } else {
                let (to, bytes) = (&callback.destination, callback.bytes);
                shared.state.release(to, bytes, None, now);
                shared.freed.insert(callback.destination);
            }
        }
        drop(shared);
        self.handed_over.ring();
    }

    /// The rows of these callbacks were not written, as far as this process knows.
    pub(crate) fn abandon(&self, pending: Vec<PendingCallback>, now: Timestamp) {
        self.doubt_claims();
        self.hand_over(pending, &HashSet::new(), now);
    }

    pub(crate) fn collect(&self) -> Vec<PendingCallback> {
        std::mem::take(&mut self.lock().handed_over)
    }

    /// Rows may be claimed by this node without its knowledge.
    pub(crate) fn doubt_claims(&self) {
        self.lock().is_claim_in_doubt = true;
    }

    pub(crate) fn take_doubt(&self) -> bool {
        std::mem::take(&mut self.lock().is_claim_in_doubt)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
