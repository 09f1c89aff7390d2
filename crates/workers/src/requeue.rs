//! Requeues cargo that came back without an outcome: which lane it takes next, and when.

use chrono::TimeDelta;
use domain::id;
use domain::lane::{Lane, LaneId};
use domain::model::Model;
use domain::reason_code::{CargoFailure, FailureCode};
use domain::retry;
use domain::route::{REALTIME_FALLBACK_AGE, Route, Routes};
use domain::route_choice::{ModelWays, RouteReason, WayTimes};
use domain::time::Timestamp;
use store::shard::batch::{DeadlineWay, RequeuePlan};
use store::shard::lane;
use store::shard::lane_state::{self, MAX_COUNTED_QUEUE};
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
    let open_routes = routes.iter().filter(|route| is_open(route));
    let open_routes: Vec<Route> = open_routes.cloned().collect();
    Ok(RequeuePlan {
        lane: Some(ensure_lane(claimed, &usual).await?),
        reason: (usual.via != lane.via).then_some(RouteReason::AfterFailure.as_str()),
        urgent: Some((
            id::first_id_at(now - REALTIME_FALLBACK_AGE),
            ensure_lane(claimed, &urgent).await?,
        )),
        ways: plan_ways(claimed, model, open_routes, now).await?,
        backoffs: rests,
        kept: Vec::new(),
    })
}

/// The ways of cargo whose callers set deadlines.
async fn plan_ways(
    claimed: &ClaimedBatch,
    model: &Model,
    open_routes: Vec<Route>,
    now: Timestamp,
) -> Result<Vec<DeadlineWay>, store::Error> {
    let shard = claimed.shard();
    let mut open_routes = open_routes.into_iter();
    let (true, Some(first)) = (
        claimed.batch.first_deadline_at.is_some(),
        open_routes.next(),
    ) else {
        return Ok(Vec::new());
    };
    let routes = Routes::new(first, open_routes.collect());
    let ways = ModelWays::of(&routes, &shard.name);
    if !ways.has_choice() {
        return Ok(Vec::new());
    }
    let states = lane_state::list(shard, Some(&model.id), MAX_COUNTED_QUEUE, now).await?;
    // Sweep decides how long cargo waits for spare capacity.
    let times = WayTimes {
        flex_refused_for: None,
        ..lane_state::way_times(&states, model, &ways, now)
    };
    let mut planned = Vec::new();
    for step in ways.steps(&times) {
        let target = Lane::of(model, step.choice.route);
        planned.push(DeadlineWay {
            due_before: now + step.left_below,
            lane: ensure_lane(claimed, &target).await?,
            reason: step.choice.reason.as_str(),
        });
    }
    Ok(planned)
}

/// The failure of cargo that has used up its attempts, otherwise nothing.
pub(crate) fn final_failure(head: &OpenCargo, why: &str) -> Option<CargoFailure> {
    let attempts = head.attempt;
    let message = || format!("no answer in {attempts} attempts: {why}");
    retry::is_exhausted(attempts).then(|| FailureCode::AttemptsExhausted.with_message(message()))
}

async fn ensure_lane(claimed: &ClaimedBatch, target: &Lane) -> Result<LaneId, store::Error> {
    if *target == *claimed.lane {
        return Ok(claimed.batch.lane);
    }
    lane::ensure(claimed.shard(), target).await
}
