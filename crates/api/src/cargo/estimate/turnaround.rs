//! When the outcomes of loads can be expected, by what their lanes measured.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use domain::lane::Lane;
use domain::time::Timestamp;
use store::shard::lane_state::LaneState;
use wire::estimate::EstimatedTurnaroundBody;
use wire::timestamp::WireTimestamp;

use crate::state::{App, ShardHandle};

/// The slowest lane counts. One without measurements makes the time unknown.
pub(super) async fn find(
    app: &App,
    handle: &ShardHandle,
    lanes: &BTreeSet<Lane>,
    loading_seconds: u64,
    now: Timestamp,
) -> EstimatedTurnaroundBody {
    let mut times = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let states = handle
            .lane_states
            .find(&handle.shard, &lane.model, now)
            .await;
        let state = states.states.iter().find(|state| state.lane == *lane);
        times.push(state.map_or_else(LaneTimes::default, LaneTimes::of));
    }
    let p50 = slowest(times.iter().map(|it| it.p50));
    let p90 = slowest(times.iter().map(|it| it.p90));
    let loading = i64::try_from(loading_seconds).ok();
    let loading = loading.and_then(TimeDelta::try_seconds);
    let expected_at = p50.zip(loading).and_then(|(p50, loading)| {
        let needed = loading.checked_add(&app.linger)?.checked_add(&p50)?;
        now.checked_add_signed(needed)
    });
    EstimatedTurnaroundBody {
        p50_seconds: p50.map(whole_seconds),
        p90_seconds: p90.map(whole_seconds),
        expected_at: expected_at.map(WireTimestamp),
        loading_seconds,
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct LaneTimes {
    p50: Option<TimeDelta>,
    p90: Option<TimeDelta>,
}

impl LaneTimes {
    /// A lane without percentiles has only the usual time of its requests. When a pause ends is
    /// not known.
    fn of(state: &LaneState) -> Self {
        if state.is_paused {
            return Self::default();
        }
        Self {
            p50: state.p50.or(state.turnaround),
            p90: state.p90,
        }
    }
}

fn slowest(times: impl Iterator<Item = Option<TimeDelta>>) -> Option<TimeDelta> {
    let times: Option<Vec<TimeDelta>> = times.collect();
    times?.into_iter().max()
}

/// Rounded up.
fn whole_seconds(time: TimeDelta) -> u64 {
    let milliseconds = u64::try_from(time.num_milliseconds()).unwrap_or_default();
    milliseconds.div_ceil(1000)
}
