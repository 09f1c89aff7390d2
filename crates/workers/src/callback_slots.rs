//! Slots for callbacks in flight on this node, and the memory of their payloads.
//!
//! The slots of a destination follow its answers. Unknown, slow and failing hosts share a part of
//! all slots, so that even nine dead receivers of ten cannot take them all. A callback without a
//! slot waits in its row.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use domain::callback_signature::{CallbackSigner, SignatureHeaders};
use domain::host_pace::{HostAnswer, HostClass};
use domain::id::{CargoId, GroupId, ProjectId};
use domain::time::Timestamp;
use domain::trace_context::TraceContext;
use parking_lot::{Mutex, MutexGuard};
use store::shard::delivery::Destination;
use store::shard::node::Claim;

use crate::stage::Wakeup;

mod state;

use state::SlotState;
pub(crate) use state::{NoSlotReason, SlotUsage};

/// What bounds the callbacks in flight.
#[derive(Debug, Clone, Copy)]
pub struct CallbackLimits {
    pub slots: usize,
    /// To one host of one organization, however quick it is.
    pub per_destination: usize,
    /// All payloads in flight together, unpacked.
    pub payload_bytes: usize,
}

/// A callback that this node has claimed and will send.
#[derive(Debug)]
pub(crate) struct PendingCallback {
    /// The id of the delivery.
    pub(crate) cargo: CargoId,
    /// The completed group whose callback it is. None: it is that of a cargo.
    pub(crate) group: Option<GroupId>,
    pub(crate) project: ProjectId,
    pub(crate) destination: Destination,
    pub(crate) url: String,
    pub(crate) number: u32,
    /// A user requested it again: one attempt, without retries.
    pub(crate) is_resend: bool,
    pub(crate) due_at: Timestamp,
    pub(crate) claim: Claim,
    /// How many bytes of the payload budget it holds.
    pub(crate) bytes: usize,
    /// The payload lacks the names that its load gave it: it is read again before it is sent.
    pub(crate) lacks_names: bool,
    pub(crate) payload: Bytes,
    /// The span of the load, if the cargo is traced.
    pub(crate) trace: Option<TraceContext>,
}

/// What a load named, for the payload.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PayloadNames<'a> {
    pub(crate) group: Option<GroupId>,
    pub(crate) custom_id: Option<&'a str>,
    pub(crate) metadata: Option<&'a [u8]>,
}

impl PendingCallback {
    /// Every attempt has its own time and signature, and the same id.
    pub(crate) fn sign(
        &self,
        signer: &CallbackSigner,
        now: Timestamp,
        payload: &[u8],
    ) -> SignatureHeaders {
        match self.group {
            Some(group) => signer.sign_for_group(group, now, payload),
            None => signer.sign(self.cargo, now, payload),
        }
    }

    /// The body of the callback. Every attempt sends the same bytes, unless the project's option
    /// for metadata changes. An outcome of an earlier version may have failed without a code.
    pub(crate) fn encode_payload(
        cargo: CargoId,
        success: bool,
        code: Option<&str>,
        plain: &[u8],
        names: PayloadNames<'_>,
    ) -> Bytes {
        let mut body = if success {
            wire::callback::success_body(cargo, plain)
        } else {
            wire::callback::failure_body(cargo, code, &String::from_utf8_lossy(plain))
        };
        if let Some(group) = names.group {
            body = wire::callback::with_group(body, names.custom_id, group);
        }
        Bytes::from(match names.metadata {
            Some(metadata) => wire::callback::with_metadata(body, metadata),
            None => body,
        })
    }
}

#[derive(Debug, Clone)]
pub(crate) struct CallbackSlots {
    shared: Arc<Mutex<SharedSlots>>,
    wakeup: Wakeup,
}

#[derive(Debug)]
struct SharedSlots {
    state: SlotState,
    /// Callbacks of outcomes that this process has just stored.
    handed_over: Vec<PendingCallback>,
    /// Cargo whose callback this node has claimed and not recorded yet.
    held: HashSet<CargoId>,
    /// Destinations with a slot released since the last `take_freed`.
    freed: HashSet<Destination>,
    /// A claiming statement may have been committed although it failed here.
    is_claim_in_doubt: bool,
}

impl CallbackSlots {
    pub(crate) fn new(limits: CallbackLimits, handed_over: Wakeup) -> Self {
        let shared = SharedSlots {
            state: SlotState::new(limits),
            handed_over: Vec::new(),
            held: HashSet::new(),
            freed: HashSet::new(),
            is_claim_in_doubt: false,
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
            wakeup: handed_over,
        }
    }

    pub(crate) fn class(&self, destination: &Destination) -> HostClass {
        self.lock().state.class(destination)
    }

    pub(crate) fn free_slots_of_class(&self, class: HostClass) -> usize {
        self.lock().state.free_slots_of_class(class)
    }

    pub(crate) fn in_use(&self, class: HostClass) -> SlotUsage {
        self.lock().state.in_use(class)
    }

    /// How many more callbacks this destination may have in flight.
    pub(crate) fn free_slots(
        &self,
        destination: &Destination,
        now: Timestamp,
    ) -> Result<usize, NoSlotReason> {
        self.lock().state.free_slots(destination, now)
    }

    /// Takes a slot and the memory of a payload, if both are free.
    pub(crate) fn reserve(&self, destination: &Destination, bytes: usize, now: Timestamp) -> bool {
        let state = &mut self.lock().state;
        if state.free_slots(destination, now).is_err() || !state.fits(destination, bytes) {
            return false;
        }
        state.take(destination, now);
        state.add_bytes(destination, bytes);
        true
    }

    /// Takes a slot for a delivery that is already claimed, even beyond a limit.
    pub(crate) fn take(&self, cargo: CargoId, destination: &Destination, now: Timestamp) {
        let mut shared = self.lock();
        shared.held.insert(cargo);
        shared.state.take(destination, now);
    }

    /// Takes the memory of a payload that already has a slot.
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

    /// Releases a slot. The host's answer, if there was one, adapts its limit.
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

    /// The cargo whose callbacks this process does not hold.
    pub(crate) fn filter_unknown(&self, cargo: Vec<CargoId>) -> HashSet<CargoId> {
        let shared = self.lock();
        let unknown = cargo.into_iter().filter(|id| !shared.held.contains(id));
        unknown.collect()
    }

    /// Forgets callbacks that are recorded or that this node has lost.
    pub(crate) fn forget(&self, cargo: impl IntoIterator<Item = CargoId>) {
        let mut shared = self.lock();
        for id in cargo {
            shared.held.remove(&id);
        }
    }

    /// Hands over callbacks whose rows were written, and releases the slots of the others.
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
        self.wakeup.wake();
    }

    /// Releases callbacks whose rows were not written, as far as this process knows.
    pub(crate) fn abandon(&self, pending: Vec<PendingCallback>, now: Timestamp) {
        self.mark_claims_in_doubt();
        self.hand_over(pending, &HashSet::new(), now);
    }

    pub(crate) fn take_handed_over(&self) -> Vec<PendingCallback> {
        std::mem::take(&mut self.lock().handed_over)
    }

    /// Returns callbacks that were taken and not started.
    pub(crate) fn restore_handed_over(&self, callbacks: Vec<PendingCallback>) {
        self.lock().handed_over.extend(callbacks);
    }

    /// This node may hold claims that it does not know of.
    pub(crate) fn mark_claims_in_doubt(&self) {
        self.lock().is_claim_in_doubt = true;
    }

    pub(crate) fn take_claims_in_doubt(&self) -> bool {
        std::mem::take(&mut self.lock().is_claim_in_doubt)
    }

    fn lock(&self) -> MutexGuard<'_, SharedSlots> {
        self.shared.lock()
    }
}
