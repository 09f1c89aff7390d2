//! Moves cargo whose way no longer fits its deadline: from batch to flex, and from flex to realtime.
//! Cargo that can still take a batch leaves a provider without spare capacity.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::cargo::CARGO_DEADLINE;
use domain::lane::{Lane, LaneId};
use domain::model::{Catalogue, Model};
use domain::route::InferenceMode;
use domain::route_choice::{
    FLEX_PATIENCE, JOB_CANCEL_LEFT, ModelWays, RouteReason, WayStep, WayTimes,
};
use domain::time::Timestamp;
use store::shard::cargo_id_range::CargoIdRange;
use store::shard::lane_state::{self, LaneState, MAX_COUNTED_QUEUE};
use store::shard::waiting_deadlines::{self, LaneMove};
use store::shard::{batch_submission, lane, waiting};

use super::{MAX_ROWS_PER_STATEMENT, SweepStage};

/// Cargo past its deadline by more than this has already failed.
const OVERDUE_MARGIN: TimeDelta = TimeDelta::hours(1);

impl SweepStage {
    /// Checks the waiting cargo and the jobs of all lanes whose models have several ways.
    pub(super) async fn change_ways(&self, now: Timestamp) -> Result<(), store::Error> {
        let catalogue: Arc<Catalogue> = self.catalogue.borrow().clone();
        let has_choice =
            |model: &Model| ModelWays::of(&model.routes, &self.shard.name).has_choice();
        if !catalogue.models().any(has_choice) {
            return Ok(());
        }
        let states = lane_state::list(&self.shard, None, MAX_COUNTED_QUEUE, now).await?;
        let mut with_late_jobs = Vec::new();
        for state in states
            .iter()
            .filter(|it| it.lane.via != InferenceMode::Realtime)
        {
            let Some(model) = catalogue
                .find(&state.lane.model)
                .filter(|it| has_choice(it))
            else {
                continue;
            };
            let ways = ModelWays::of(&model.routes, &self.shard.name);
            let times = lane_state::way_times(&states, model, &ways, now);
            if state.lane.via == InferenceMode::Batch && ways.has_quicker_way(&times) {
                with_late_jobs.push(state.id.0);
            }
            if state.waiting > 0 {
                self.change_waiting(state, model, &ways, &times, now)
                    .await?;
            }
        }
        let before = now + JOB_CANCEL_LEFT;
        let shard = &self.shard;
        let stopped =
            batch_submission::request_cancel_for_deadline(shard, &with_late_jobs, before, now)
                .await?;
        if stopped > 0 {
            tracing::warn!(shard = %shard.name, stopped, "jobs with cargo close to a caller's deadline are cancelled");
        }
        Ok(())
    }

    async fn change_waiting(
        &self,
        state: &LaneState,
        model: &Model,
        ways: &ModelWays<'_>,
        times: &WayTimes,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let mut times = *times;
        if state.lane.via == InferenceMode::Flex {
            // It has its place in the queue already. Only other cargo joins the end.
            times.flex_wait = TimeDelta::zero();
        }
        let steps = ways.steps(&times);
        let mut due_from = Timestamp::UNIX_EPOCH;
        for WayStep { left_below, choice } in &steps {
            let due_before = now + *left_below;
            let target = Lane::of(model, choice.route);
            // From flex there is no way back to flex, and from a batch no way past it.
            if target.via > state.lane.via {
                let way = LaneMove {
                    from: state.id,
                    to: self.find_lane(state, &target).await?,
                    due_from,
                    due_before,
                    reason: choice.reason.as_str(),
                };
                self.move_all(way).await?;
                if state.lane.via == InferenceMode::Flex {
                    self.move_oldest(way, now).await?;
                }
            }
            due_from = due_before;
        }
        let refused_for = times.flex_refused_for.unwrap_or_default();
        if let Some(batch) = ways.batch
            && state.lane.via == InferenceMode::Flex
            && refused_for > FLEX_PATIENCE
        {
            let to = self.find_lane(state, &Lane::of(model, batch)).await?;
            let due_from = now + times.batch_needs();
            self.leave_refused_lane(state.id, to, due_from).await?;
        }
        Ok(())
    }

    /// Moves the cargo of a lane without capacity that a batch answers in time.
    async fn leave_refused_lane(
        &self,
        from: LaneId,
        to: LaneId,
        due_from: Timestamp,
    ) -> Result<(), store::Error> {
        let way = LaneMove {
            from,
            to,
            due_from,
            due_before: due_from + CARGO_DEADLINE,
            reason: RouteReason::FlexWithoutCapacity.as_str(),
        };
        self.move_all(way).await?;
        let (shard, most) = (&self.shard, MAX_ROWS_PER_STATEMENT);
        while waiting_deadlines::move_without_deadline(shard, way, most).await? > 0 {}
        Ok(())
    }

    /// The same for cargo whose usual deadline is near.
    async fn move_oldest(&self, way: LaneMove, now: Timestamp) -> Result<(), store::Error> {
        let (shard, most) = (&self.shard, MAX_ROWS_PER_STATEMENT);
        let first = now - CARGO_DEADLINE - OVERDUE_MARGIN;
        let ids = CargoIdRange::loaded_between(first, way.due_before - CARGO_DEADLINE);
        while waiting::move_to_lane(shard, way.from, way.to, ids, most).await? > 0 {}
        Ok(())
    }

    async fn move_all(&self, way: LaneMove) -> Result<(), store::Error> {
        let (shard, most) = (&self.shard, MAX_ROWS_PER_STATEMENT);
        while waiting_deadlines::move_by_deadline(shard, way, most).await? > 0 {}
        Ok(())
    }

    async fn find_lane(&self, state: &LaneState, target: &Lane) -> Result<LaneId, store::Error> {
        if state.lane == *target {
            return Ok(state.id);
        }
        lane::ensure(&self.shard, target).await
    }
}
