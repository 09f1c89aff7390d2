//! Flex: requests at the batch price, which a provider refuses while it has no spare capacity.
//!
//! A refusal costs the cargo no attempt, and the request is sent again. Some refusals in a row open
//! the circuit breaker of the account's flex requests. Then the cargo goes back to its queue, where
//! sweep may find it another way.

use std::collections::HashSet;
use std::time::Duration;

use chrono::TimeDelta;
use domain::circuit_breaker::{Allowance, FIRST_BACKOFF, spread_retry};
use domain::id::CargoId;
use domain::route::InferenceMode;
use domain::route_choice::{FLEX_WINDOW, REALTIME_RESERVE};
use domain::time::Timestamp;
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::item_result::ItemResult;
use store::shard::lane_state::{self, FlexObservation};

use crate::batch_end::BatchEnd;
use crate::claimed_batch::ClaimedBatch;

/// How long the provider may take to answer a flex request.
const FLEX_TIMEOUT: Duration = Duration::from_mins(15);
/// A request with little time left gets at least this.
const MIN_FLEX_TIMEOUT: Duration = Duration::from_secs(30);

/// What happened to the flex requests of one batch.
#[derive(Debug, Default)]
pub(super) struct FlexProgress {
    /// Cargo that has used an attempt. Refusals for lack of capacity are none.
    tried: HashSet<CargoId>,
    /// Cargo with a request whose result is unknown. It has used an attempt, too.
    unknown: HashSet<CargoId>,
    /// The account gets no more flex requests for now.
    is_refused: bool,
    /// Whether any request was refused for lack of capacity, or had no response when repeated.
    has_refusals: bool,
    slowest_answer: Option<TimeDelta>,
}

/// What to do with a request after its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlexVerdict {
    /// Handle the response as that of a realtime request.
    Usual,
    /// The request may be sent again at once.
    SendAgain,
    /// The cargo is requeued at the end of the batch, in the same attempt.
    KeepAttempt,
    /// The cargo is requeued at the end of the batch, and has used an attempt.
    CountAttempt,
}

impl FlexProgress {
    /// Whether the provider has no capacity for more requests of this batch.
    pub(super) const fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Judges a response. `took` is how long it took by the shard's clock.
    pub(super) fn judge(
        &mut self,
        claimed: &ClaimedBatch,
        cargo: CargoId,
        result: &Result<ItemResult, ProviderCallFailure>,
        took: TimeDelta,
    ) -> FlexVerdict {
        if claimed.lane.via != InferenceMode::Flex {
            return FlexVerdict::Usual;
        }
        let (accounts, key) = (&claimed.deps.accounts, claimed.account_key());
        match result {
            Err(failure @ ProviderCallFailure::NoCapacity { retry_after }) => {
                metrics::counter!("longshore_flex_refused_total").increment(1);
                self.has_refusals = true;
                let until = accounts.record_refusal(&key, &failure.to_string());
                self.is_refused |= until.is_some();
                // Its first request may have been run.
                return if self.unknown.contains(&cargo) {
                    FlexVerdict::CountAttempt
                } else if until.is_none() && retry_after.is_none() {
                    // Refusals in a row open the circuit breaker, which ends this.
                    FlexVerdict::SendAgain
                } else {
                    FlexVerdict::KeepAttempt
                };
            }
            Err(failure @ ProviderCallFailure::Indeterminate(_)) => {
                metrics::counter!("longshore_flex_unknown_total").increment(1);
                let until = accounts.record_refusal(&key, &failure.to_string());
                self.is_refused |= until.is_some();
                if self.unknown.insert(cargo) && until.is_none() {
                    return FlexVerdict::SendAgain;
                }
                // It may be billed twice already: it is not sent a third time from here.
                self.has_refusals = true;
                return FlexVerdict::CountAttempt;
            }
            Ok(result) => {
                accounts.record_answer(&key);
                self.slowest_answer = self.slowest_answer.max(Some(took));
                count_downgrade(result);
                self.tried.insert(cargo);
            }
            Err(_) => {}
        }
        FlexVerdict::Usual
    }

    /// The cargo has used an attempt.
    pub(super) fn record_attempt(&mut self, cargo: CargoId) {
        self.tried.insert(cargo);
    }
}

/// How long one request may take. A flex request leaves time for a realtime request, if the model
/// has such a route.
pub(super) fn answer_timeout(
    via: InferenceMode,
    usual: Duration,
    left: TimeDelta,
    has_realtime: bool,
) -> Duration {
    if via != InferenceMode::Flex {
        return usual;
    }
    let reserve = if has_realtime {
        REALTIME_RESERVE
    } else {
        TimeDelta::zero()
    };
    let left = (left - reserve).to_std().unwrap_or_default();
    left.clamp(MIN_FLEX_TIMEOUT, FLEX_TIMEOUT)
}

/// Whether the account's flex requests must wait, so that the batch goes back unsent.
pub(super) fn is_closed(claimed: &ClaimedBatch) -> bool {
    let now = claimed.shard().clock.now();
    claimed.lane.via == InferenceMode::Flex
        && claimed.probe.is_none()
        && claimed.deps.accounts.allowance(&claimed.account_key(), now) != Allowance::Any
}

/// Records what the run showed, and requeues the open cargo.
pub(super) async fn end_batch(
    claimed: &ClaimedBatch,
    progress: &FlexProgress,
    concurrency: u32,
    is_failing: bool,
    now: Timestamp,
) -> Result<(), store::Error> {
    let (shard, accounts) = (claimed.shard(), &claimed.deps.accounts);
    let open_until = accounts.open_until(&claimed.account_key());
    let slowest = progress
        .slowest_answer
        .map(|it| it.as_seconds_f64().max(1.0));
    let seen = FlexObservation {
        slowest_seconds: slowest,
        capacity: slowest.map(|slowest| capacity(concurrency, slowest)),
        // A circuit breaker that another model opened says nothing about this lane.
        is_refused: progress.has_refusals || is_failing,
    };
    lane_state::record_flex(shard, claimed.batch.lane, seen, now).await?;
    let again_at = open_until.unwrap_or(now + FIRST_BACKOFF);
    let is_kept =
        |cargo: &&CargoId| !progress.tried.contains(*cargo) && !progress.unknown.contains(*cargo);
    let kept = claimed.batch.cargo.iter().filter(is_kept).map(|cargo| {
        let spread = spread_retry(again_at, now, cargo.uuid().as_u128());
        (*cargo, spread)
    });
    let end = BatchEnd::Refused(kept.collect());
    claimed.end(end, now).await
}

/// How many requests are answered in `FLEX_WINDOW`, so many at once. At least one, so that a slow
/// lane still takes a request by which it is measured again.
fn capacity(concurrency: u32, slowest_seconds: f64) -> u64 {
    let rounds = FLEX_WINDOW.as_seconds_f64() / slowest_seconds.max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 900 rounds of requests"
    )]
    let answered = (rounds * f64::from(concurrency)) as u64;
    answered.max(1)
}

/// A provider may serve a flex request at the standard tier, and bills that.
fn count_downgrade(result: &ItemResult) {
    if result.tier().is_some_and(|it| it != InferenceMode::Flex) {
        metrics::counter!("longshore_flex_downgraded_total").increment(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flex_request_leaves_time_for_a_realtime_request() {
        let usual = Duration::from_mins(10);
        let within = |via, minutes, has_realtime| {
            let left = TimeDelta::minutes(minutes);
            answer_timeout(via, usual, left, has_realtime).as_secs()
        };
        assert_eq!(within(InferenceMode::Realtime, 1, true), 600);
        assert_eq!(within(InferenceMode::Flex, 1440, true), 900);
        assert_eq!(within(InferenceMode::Flex, 10, true), 300);
        assert_eq!(within(InferenceMode::Flex, 10, false), 600);
        assert_eq!(within(InferenceMode::Flex, -1, true), 30);
    }

    #[test]
    fn capacity_follows_concurrency_and_the_slowest_answer() {
        assert_eq!(capacity(8, 60.0), 120);
        assert_eq!(capacity(1, 0.1), 900);
        assert_eq!(capacity(1, 1000.0), 1);
    }
}
