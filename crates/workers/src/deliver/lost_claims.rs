//! Frees claims of this node that it does not know of, because the database's answer was lost.

use std::collections::HashSet;

use chrono::TimeDelta;
use domain::id::CargoId;
use domain::time::Timestamp;
use store::Shard;
use store::shard::delivery;
use store::shard::node::Claim;

use crate::callback_slots::CallbackSlots;

/// How often claims are compared with callbacks in flight after a claiming statement has failed.
const IN_DOUBT_CHECK_INTERVAL: TimeDelta = TimeDelta::seconds(5);
/// How many such checks follow a failure. A claim is lost when two checks do not know it.
const CHECKS_IN_DOUBT: u32 = 3;
/// How often they are compared otherwise. Each check reads over dead rows, if there are any.
const ROUTINE_CHECK_INTERVAL: TimeDelta = TimeDelta::minutes(5);

#[derive(Debug)]
pub(super) struct LostClaims {
    /// Unknown at the last check. Their answer may have been on its way then.
    suspects: HashSet<CargoId>,
    checks_left: u32,
    check_at: Timestamp,
}

impl Default for LostClaims {
    fn default() -> Self {
        Self {
            suspects: HashSet::new(),
            checks_left: 0,
            check_at: Timestamp::UNIX_EPOCH,
        }
    }
}

impl LostClaims {
    /// Frees claims that were unknown in two checks; returns how many.
    pub(super) async fn free(
        &mut self,
        shard: &Shard,
        claim: Claim,
        slots: &CallbackSlots,
        now: Timestamp,
    ) -> Result<usize, store::Error> {
        if slots.take_claims_in_doubt() {
            self.checks_left = CHECKS_IN_DOUBT;
            self.check_at = self.check_at.min(now + IN_DOUBT_CHECK_INTERVAL);
        }
        if now < self.check_at {
            return Ok(0);
        }
        let unknown = slots.filter_unknown(delivery::list_claimed(shard, claim).await?);
        let lost: Vec<_> = unknown.intersection(&self.suspects).copied().collect();
        if !lost.is_empty() {
            delivery::release(shard, claim, &lost).await?;
            tracing::warn!(shard = %shard.name, count = lost.len(), "delivery claims that this worker did not know of were freed: the database's answer was lost");
        }
        self.checks_left = self.checks_left.saturating_sub(1);
        if !unknown.is_empty() {
            self.checks_left = self.checks_left.max(1);
        }
        let interval = if self.checks_left > 0 {
            IN_DOUBT_CHECK_INTERVAL
        } else {
            ROUTINE_CHECK_INTERVAL
        };
        self.check_at = now + interval;
        self.suspects = unknown;
        Ok(lost.len())
    }
}
