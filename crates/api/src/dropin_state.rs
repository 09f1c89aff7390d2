//! What the drop-in routes and the unpacker share.

use std::collections::HashMap;

use domain::id::GroupId;
use parking_lot::Mutex;
use store::Control;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::batch_callers::BatchCallers;
use crate::dropin_limits::DropinLimits;
use crate::item_tries::ItemTries;
use crate::public_origin::PublicOrigin;

/// The settings of the drop-ins.
#[derive(Debug, Clone, Default)]
pub struct DropinOptions {
    /// Whether the routes are served. Batches that exist are unpacked in any case.
    pub is_enabled: bool,
    pub origin: PublicOrigin,
}

#[derive(Debug)]
pub(crate) struct DropinState {
    pub(crate) options: DropinOptions,
    pub(crate) callers: BatchCallers,
    pub(crate) item_tries: ItemTries,
    /// The holder of leases: this process.
    pub(crate) holder: Uuid,
    /// This process has created a batch.
    pub(crate) created: Notify,
    pub(crate) failed_turns: FailedTurns,
    pub(crate) limits: DropinLimits,
}

/// How many turns of batches have failed in a row, in this process.
#[derive(Debug, Default)]
pub(crate) struct FailedTurns(Mutex<HashMap<GroupId, u32>>);

impl FailedTurns {
    /// Counts one more, and returns how many there are.
    pub(crate) fn add(&self, batch: GroupId) -> u32 {
        let mut turns = self.0.lock();
        let count = turns.entry(batch).or_default();
        *count += 1;
        *count
    }

    pub(crate) fn clear(&self, batch: GroupId) {
        self.0.lock().remove(&batch);
    }
}

impl DropinState {
    pub(crate) fn new(options: DropinOptions, control: Control) -> Self {
        Self {
            options,
            callers: BatchCallers::new(control),
            item_tries: ItemTries::default(),
            holder: Uuid::from_u128(rand::random()),
            created: Notify::new(),
            failed_turns: FailedTurns::default(),
            limits: DropinLimits::default(),
        }
    }
}
