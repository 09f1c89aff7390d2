//! Whether an organization can pay for a whole batch, and load it in time.
//!
//! The sum is compared before anything is loaded. Each item is still held when it is loaded.

use domain::account::{AccountRefusal, first_day_of_month};
use domain::dropin::BATCH_WINDOW;
use domain::hold::Hold;
use domain::key_spending::KeySpending;
use domain::plan_limits::RateLimit;
use domain::time::Timestamp;
use store::shard::{account, key_spending};

use crate::api_error::ApiError;
use crate::caller::Caller;
use crate::state::App;

/// The sum of the holds of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BatchHold(Hold);

impl BatchHold {
    pub(crate) fn add(&mut self, hold: &Hold) {
        self.0.amount = self.0.amount + hold.amount;
        self.0.tokens = self.0.tokens.saturating_add(hold.tokens);
    }

    /// The refusal that a single load of this size would get, if there is one.
    pub(crate) async fn check(
        &self,
        app: &App,
        caller: &Caller,
    ) -> Result<Result<(), AccountRefusal>, ApiError> {
        let shard = &app.shard_handle(caller.berth)?.shard;
        let now = shard.clock.now();
        let found = account::find(shard, caller.organization).await?;
        let mut account =
            found.ok_or_else(|| ApiError::internal("the organization has no account"))?;
        let tokens = app
            .plan_limits
            .borrow()
            .for_plan(caller.plan)
            .monthly_tokens;
        if let Err(refusal) = account.place_hold(&self.0, tokens, now) {
            return Ok(Err(refusal));
        }
        let Some(cap) = caller.spending_cap() else {
            return Ok(Ok(()));
        };
        let month = first_day_of_month(now);
        let rows = key_spending::list(shard, &[cap.key], month).await?;
        let row = rows.into_iter().next();
        let mut spending = row.unwrap_or_else(|| KeySpending::new(cap.key, month));
        Ok(spending.place_hold(self.0.amount, cap.monthly))
    }
}

/// How many items a plan loads until the end of the window.
pub(crate) fn loadable_items(rate: RateLimit, now: Timestamp, until: Timestamp) -> u64 {
    let window = (until - now).clamp(chrono::TimeDelta::zero(), BATCH_WINDOW);
    let minutes = u64::try_from(window.num_minutes()).unwrap_or_default();
    u64::from(rate.burst).saturating_add(u64::from(rate.per_minute).saturating_mul(minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_loads_its_burst_and_its_rate() {
        let rate = RateLimit {
            burst: 100,
            per_minute: 30,
        };
        let now = Timestamp::default();
        assert_eq!(loadable_items(rate, now, now + BATCH_WINDOW), 43_300);
        assert_eq!(loadable_items(rate, now, now - BATCH_WINDOW), 100);
    }
}
