//! Reroutes urgent cargo: from hour 20 on it takes the model's flex or realtime route. Before that, a
//! job that seems stuck is cancelled in favour of another account.

use chrono::TimeDelta;
use domain::cargo::{CARGO_DEADLINE, JOB_CANCEL_AGE};
use domain::id;
use domain::lane::{Lane, LaneId};
use domain::route::{InferenceMode, REALTIME_FALLBACK_AGE, Route, SLOW_JOB_TIMEOUT};
use domain::route_choice::ModelWays;
use domain::time::Timestamp;
use store::shard::batch_submission::{self, JobsToCancel};
use store::shard::cargo_id_range::CargoIdRange;
use store::shard::lane_state::{self, LaneState, MAX_COUNTED_QUEUE};
use store::shard::{lane, waiting};
use uuid::Uuid;

use super::{MAX_ROWS_PER_STATEMENT, SweepStage};

/// Cargo past its deadline by more than this has already failed.
const OVERDUE_MARGIN: TimeDelta = TimeDelta::hours(1);

impl SweepStage {
    /// Moves urgent cargo to other lanes, and cancels jobs with urgent cargo.
    pub(super) async fn reroute_urgent(&self, now: Timestamp) -> Result<(), store::Error> {
        let states = lane_state::list(&self.shard, None, MAX_COUNTED_QUEUE, now).await?;
        let batches = states
            .iter()
            .filter(|state| state.lane.via == InferenceMode::Batch);
        let (mut all, mut to_servers, mut to_others) = (Vec::new(), Vec::new(), Vec::new());
        for LaneState { id, lane, .. } in batches {
            all.push(id.0);
            if let Some(other) = self.next_lane(lane, REALTIME_FALLBACK_AGE, &states, now)
                && other.via.is_single_request()
            {
                to_servers.push(id.0);
                self.move_waiting(*id, &other, now).await?;
            }
            if self
                .next_lane(lane, TimeDelta::zero(), &states, now)
                .is_some_and(|other| other.via == InferenceMode::Batch)
            {
                to_others.push(id.0);
            }
        }
        let urgent_since = now - REALTIME_FALLBACK_AGE;
        let loaded_before = |at| CargoIdRange {
            first: Uuid::nil(),
            beyond: id::first_id_at(at),
        };
        let mut stopped = 0;
        for (lanes, loaded, gathered_before) in [
            (&to_servers, loaded_before(urgent_since), now),
            (
                &to_others,
                CargoIdRange::loaded_between(urgent_since, now),
                now - SLOW_JOB_TIMEOUT,
            ),
            (&all, loaded_before(now - JOB_CANCEL_AGE), now),
        ] {
            let jobs = JobsToCancel {
                lanes,
                loaded,
                gathered_before,
            };
            stopped += batch_submission::request_cancel(&self.shard, jobs, now).await?;
        }
        if stopped > 0 {
            tracing::warn!(shard = %self.shard.name, stopped, "jobs with urgent cargo are cancelled");
        }
        Ok(())
    }

    /// The lane that cargo of this age takes after this one, if it differs. Batches are not left for
    /// flex that is no quicker.
    fn next_lane(
        &self,
        lane: &Lane,
        age: TimeDelta,
        states: &[LaneState],
        now: Timestamp,
    ) -> Option<Lane> {
        let catalogue = self.catalogue.borrow();
        let model = catalogue.find(&lane.model)?;
        let tried = Some((lane.provider.as_str(), lane.via));
        let routes = model.routes.for_shard(&self.shard.name);
        let ways = ModelWays::of(&routes, &self.shard.name);
        let times = lane_state::way_times(states, model, &ways, now);
        let has_quicker_way = ways.has_quicker_way(&times);
        let is_open = |route: &Route| route.via != InferenceMode::Flex || has_quicker_way;
        let next = Lane::of(model, routes.next(tried, age, is_open));
        (next != *lane).then_some(next)
    }

    async fn move_waiting(
        &self,
        from: LaneId,
        to: &Lane,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let to = lane::ensure(&self.shard, to).await?;
        let ids = CargoIdRange::loaded_between(
            now - CARGO_DEADLINE - OVERDUE_MARGIN,
            now - REALTIME_FALLBACK_AGE,
        );
        while waiting::move_to_lane(&self.shard, from, to, ids, MAX_ROWS_PER_STATEMENT).await? > 0 {
        }
        Ok(())
    }
}
