//! Claims of this node that it does not know of: the answer that told of them was lost.

use std::collections::HashSet;

use chrono::TimeDelta;
use domain::id::CargoId;
use domain::time::Timestamp;
use store::Shard;
use store::shard::delivery;
use store::shard::node::Claim;

use crate::callback_slots::CallbackSlots;

/// How often claims are compared with what is in flight, after a statement that claims has failed.
const DOUBT_INTERVAL: TimeDelta = TimeDelta::seconds(5);
/// How many such looks follow a failure. A lost claim must be seen twice.
const LOOKS_IN_DOUBT: u32 = 3;
/// How often they are compared otherwise. Each look walks over dead rows, if there are any.
const CALM_INTERVAL: TimeDelta = TimeDelta::minutes(5);

#[derive(Debug)]
pub(super) struct LostClaims {
    /// Unknown at the last look. They may have been on their way here then.
    suspects: HashSet<CargoId>,
    looks_left: u32,
    look_at: Timestamp,
}

impl Default for LostClaims {
    fn default() -> Self {
        Self {
            suspects: HashSet::new(),
            looks_left: 0,
            look_at: Timestamp::UNIX_EPOCH,
        }
    }
}

impl LostClaims {
    /// Frees claims that were unknown twice; returns how many.
    pub(super) async fn free(
        &mut self,
        shard: &Shard,
        claim: Claim,
        slots: &CallbackSlots,
        now: Timestamp,
    ) -> Result<usize, store::Error> {
        if slots.take_doubt() {
            self.looks_left = LOOKS_IN_DOUBT;
            self.look_at = self.look_at.min(now + DOUBT_INTERVAL);
        }
        if now < self.look_at {
            return Ok(0);
        }
        let unknown = slots.unknown(delivery::held(shard, claim).await?);
        let lost: Vec<_> = unknown.intersection(&self.suspects).copied().collect();
        if !lost.is_empty() {
            delivery::free(shard, claim, &lost).await?;
            tracing::warn!(shard = %shard.name, count = lost.len(), "Freed delivery claims that this worker did not know of: the database's answer was lost");
        }
        self.looks_left = self.looks_left.saturating_sub(1);
        if !unknown.is_empty() {
            self.looks_left = self.looks_left.max(1);
        }
        let interval = if self.looks_left > 0 {
            DOUBT_INTERVAL
        } else {
            CALM_INTERVAL
        };
        self.look_at = now + interval;
        self.suspects = unknown;
        Ok(lost.len())
    }
}
