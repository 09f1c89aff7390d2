//! Chooses the lane of a load: the preferred one, or, if its model has several ways, the one that
//! fits its deadline, the queue and the price.

use std::sync::Arc;

use domain::cargo;
use domain::lane::{Lane, LaneId};
use domain::model::Model;
use domain::route::{InferenceMode, Route};
use domain::route_choice::{self, LoadSituation, ModelWays, RouteReason};
use domain::time::Timestamp;
use store::shard::lane_state::{self, LaneState};

use crate::lane_state_cache::ModelLanes;
use crate::state::ShardHandle;

/// The lane that a load joins.
#[derive(Debug)]
pub(super) struct ChosenLane {
    pub(super) id: LaneId,
    /// Why it takes this way, as it is stored and shown. None if there was no choice.
    pub(super) reason: Option<&'static str>,
    /// The states to which the load is added once it is stored, if its lane is a flex lane.
    flex: Option<Arc<ModelLanes>>,
}

impl ChosenLane {
    /// The load was stored, so it waits in the lane. A refused load never does.
    pub(super) fn count_stored_load(&self) {
        if let Some(lanes) = &self.flex {
            lanes.count_flex_load();
        }
    }
}

/// The way that a load takes, before its lane has a row.
#[derive(Debug)]
pub(super) struct ChosenWay {
    pub(super) lane: Lane,
    /// None if there was no choice.
    reason: Option<RouteReason>,
    /// The states by which a flex lane was chosen.
    flex: Option<Arc<ModelLanes>>,
}

/// The lane that a load joins. `deadline` is the caller's.
pub(super) async fn choose_lane(
    handle: &ShardHandle,
    model: &Model,
    deadline: Option<Timestamp>,
    now: Timestamp,
) -> Result<ChosenLane, store::Error> {
    let ChosenWay { lane, reason, flex } = choose_way(handle, model, deadline, now).await;
    let id = handle.lanes.find_or_create(&handle.shard, lane).await?;
    let reason = reason.map(RouteReason::as_str);
    Ok(ChosenLane { id, reason, flex })
}

/// Chooses without creating a lane.
pub(super) async fn choose_way(
    handle: &ShardHandle,
    model: &Model,
    deadline: Option<Timestamp>,
    now: Timestamp,
) -> ChosenWay {
    let shard = &handle.shard;
    let left = cargo::deadline_of(now, deadline) - now;
    let unmeasured = LoadSituation::unmeasured(deadline.is_some(), left);
    if !route_choice::has_choice(model, &shard.name, deadline.is_some()) {
        let (lane, reason) = Lane::for_load(model, &shard.name, &unmeasured);
        return ChosenWay {
            lane,
            reason,
            flex: None,
        };
    }
    let lanes = handle.lane_states.find(shard, &model.id, now).await;
    let situation = measured_situation(model, &shard.name, &lanes, unmeasured, now);
    let (lane, reason) = Lane::for_load(model, &shard.name, &situation);
    let flex = (lane.via == InferenceMode::Flex).then_some(lanes);
    ChosenWay { lane, reason, flex }
}

/// What is not measured keeps its usual value.
fn measured_situation(
    model: &Model,
    shard: &str,
    lanes: &ModelLanes,
    unmeasured: LoadSituation,
    now: Timestamp,
) -> LoadSituation {
    let ways = ModelWays::of(&model.routes, shard);
    let times = lane_state::way_times(&lanes.states, model, &ways, now);
    let Some(flex) = find_state(&lanes.states, model, ways.flex) else {
        return LoadSituation {
            times,
            queue_items: lanes.flex_loads(),
            ..unmeasured
        };
    };
    let queue_items = flex.waiting.saturating_add(lanes.flex_loads());
    let left = unmeasured.left;
    // Only an answer ends the time of refusals. So an empty lane gets a cargo that can still take a
    // batch if flex refuses it.
    let may_probe = queue_items == 0 && ways.batch.is_some() && left > times.batch_needs();
    LoadSituation {
        times,
        queue_items,
        urgent_items: flex.urgent,
        flex_capacity: flex.capacity,
        is_flex_open: !flex.is_paused && (!times.is_flex_refused(left) || may_probe),
        ..unmeasured
    }
}

fn find_state<'a>(
    states: &'a [LaneState],
    model: &Model,
    route: Option<&Route>,
) -> Option<&'a LaneState> {
    let lane = Lane::of(model, route?);
    states.iter().find(|state| state.lane == lane)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::model::ModelKind;
    use domain::route::Routes;
    use domain::route_choice::WayTimes;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(seconds, 0).unwrap()
    }

    fn model() -> Model {
        let batch = Route::plain("openai", "theirs", InferenceMode::Batch);
        let flex = Route::plain("openai", "theirs", InferenceMode::Flex);
        Model {
            routes: Routes::new(batch, vec![flex]),
            ..Model::plain("m", "unused", ModelKind::Chat)
        }
    }

    fn state(via: InferenceMode) -> LaneState {
        LaneState {
            id: LaneId(1),
            lane: Lane {
                via,
                ..Lane::preferred(&model(), "north")
            },
            p50: None,
            p90: None,
            p95: Some(TimeDelta::hours(1)),
            turnaround: Some(TimeDelta::minutes(3)),
            refused_since: None,
            is_paused: false,
            capacity: 9,
            waiting: 4,
            urgent: 2,
        }
    }

    fn usual() -> LoadSituation {
        LoadSituation::unmeasured(true, TimeDelta::hours(24))
    }

    fn measured(states: Vec<LaneState>) -> LoadSituation {
        let lanes = ModelLanes::new(states, at(0));
        lanes.count_flex_load();
        measured_situation(&model(), "north", &lanes, usual(), at(1000))
    }

    #[test]
    fn without_states_only_the_loads_of_this_process_count() {
        let expected = LoadSituation {
            queue_items: 1,
            ..usual()
        };
        assert_eq!(measured(Vec::new()), expected);
        let (lane, reason) = Lane::for_load(&model(), "north", &expected);
        assert_eq!(lane.via, InferenceMode::Flex);
        assert_eq!(reason, Some(RouteReason::FlexQueueShort));
    }

    #[test]
    fn what_the_lanes_measured_replaces_the_usual_values() {
        let batch = state(InferenceMode::Batch);
        let times = WayTimes {
            batch_p95: TimeDelta::hours(1),
            ..WayTimes::default()
        };
        let only_batch = LoadSituation {
            times,
            queue_items: 1,
            ..usual()
        };
        assert_eq!(measured(vec![batch.clone()]), only_batch);
        let both = LoadSituation {
            times: WayTimes {
                flex_answer: TimeDelta::minutes(3),
                ..times
            },
            queue_items: 5,
            urgent_items: 2,
            flex_capacity: 9,
            ..usual()
        };
        assert_eq!(measured(vec![batch, state(InferenceMode::Flex)]), both);
    }

    #[test]
    fn flex_that_is_paused_or_refuses_for_long_is_closed() {
        let is_open = |flex: LaneState| measured(vec![flex]).is_flex_open;
        let flex = state(InferenceMode::Flex);
        let refusing = |since| LaneState {
            refused_since: Some(at(since)),
            ..flex.clone()
        };
        assert!(is_open(flex.clone()));
        assert!(is_open(refusing(100)));
        assert!(!is_open(refusing(99)));
        let paused = LaneState {
            is_paused: true,
            ..flex.clone()
        };
        assert!(!is_open(paused));
    }

    #[test]
    fn cargo_that_can_still_take_a_batch_probes_an_empty_lane() {
        let refusing = LaneState {
            refused_since: Some(at(0)),
            waiting: 0,
            ..state(InferenceMode::Flex)
        };
        let is_open = |lanes: &ModelLanes, hours| {
            let unmeasured = LoadSituation::unmeasured(true, TimeDelta::hours(hours));
            measured_situation(&model(), "north", lanes, unmeasured, at(1000)).is_flex_open
        };
        let lanes = ModelLanes::new(vec![refusing.clone()], at(1000));
        assert!(is_open(&lanes, 9));
        assert!(!is_open(&lanes, 8));
        lanes.count_flex_load();
        assert!(!is_open(&lanes, 9));
        let paused = LaneState {
            is_paused: true,
            ..refusing
        };
        assert!(!is_open(&ModelLanes::new(vec![paused], at(1000)), 9));
    }
}
