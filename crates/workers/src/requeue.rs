//! Requeues cargo that came back without an outcome: which lane it takes next, and when.

use chrono::TimeDelta;
use domain::id;
use domain::lane::{Lane, LaneId};
use domain::outcome::Outcome;
use domain::reason_code::FailureCode;
use domain::retry;
use domain::route::{REALTIME_FALLBACK_AGE, Route};
use domain::time::Timestamp;
use store::shard::batch::RequeuePlan;
use store::shard::lane;
use store::shard::manifest::OpenCargo;
use store::shard::provider;

use crate::claimed_batch::ClaimedBatch;

/// When cargo without an outcome may be gathered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequeueTiming {
    Immediately,
    /// The provider failed to answer it.
    AfterBackoff,
}

/// Plans the next lane for cargo of this batch, and another one for urgent cargo.
pub(crate) async fn plan_requeue(
    claimed: &ClaimedBatch,
    timing: RequeueTiming,
    now: Timestamp,
) -> Result<RequeuePlan, store::Error> {
    let (shard, lane) = (claimed.shard(), &claimed.lane);
    let catalogue = claimed.deps.catalogue.borrow().clone();
    let rests = match timing {
        RequeueTiming::Immediately => Vec::new(),
        RequeueTiming::AfterBackoff => retry::backoff_delays().collect(),
    };
    let Some(model) = catalogue.find(&lane.model) else {
        return Ok(RequeuePlan {
            backoffs: rests,
            ..RequeuePlan::default()
        });
    };
    let paused = provider::list_paused(shard).await?;
    let is_open = |route: &Route| {
        let is_paused = paused
            .get(&route.provider)
            .is_some_and(|it| it.is_in_force(now));
        !is_paused && claimed.deps.providers.find(&route.provider).is_some()
    };
    let tried = Some((lane.provider.as_str(), lane.via));
    let routes = model.routes.for_shard(&shard.name);
    let next = |age: TimeDelta| Lane::of(model, routes.next(tried, age, is_open));
    let (usual, urgent) = (next(TimeDelta::zero()), next(REALTIME_FALLBACK_AGE));
    Ok(RequeuePlan {
        lane: Some(ensure_lane(claimed, &usual).await?),
        urgent: Some((
            id::first_id_at(now - REALTIME_FALLBACK_AGE),
            ensure_lane(claimed, &urgent).await?,
        )),
        backoffs: rests,
    })
}

/// The failure of cargo that has used up its attempts, otherwise nothing.
pub(crate) fn final_failure(head: &OpenCargo, why: &str) -> Option<Outcome> {
    let attempts = head.attempt;
    let message = || format!("no answer in {attempts} attempts: {why}");
    retry::is_exhausted(attempts)
        .then(|| Outcome::Failure(FailureCode::AttemptsExhausted.with_message(message())))
}

async fn ensure_lane(claimed: &ClaimedBatch, target: &Lane) -> Result<LaneId, store::Error> {
    if *target == *claimed.lane {
        return Ok(claimed.batch.lane);
    }
    lane::ensure(claimed.shard(), target).await
}
