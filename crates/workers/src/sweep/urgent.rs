//! Cargo that is short of time leaves the batches: from hour 20 on it takes the model's realtime
//! route. A job that seems stuck is left for another account before that.

use chrono::TimeDelta;
use domain::cargo::DEADLINE;
use domain::id;
use domain::lane::{Lane, LaneId};
use domain::route::{SLOW, URGENT, Via};
use domain::time::Timestamp;
use store::shard::submission::{self, Unwanted};
use store::shard::{lane, waiting};
use uuid::Uuid;

use super::{MAX_ROWS_PER_STATEMENT, Sweep};

/// A job that holds cargo of this age is stopped, so that it has ended when the cargo must.
const TOO_OLD: TimeDelta = TimeDelta::hours(25);
/// Cargo that is past its deadline for longer than this has failed: it need not be looked for.
const OVERDUE_MARGIN: TimeDelta = TimeDelta::hours(1);

impl Sweep {
    /// Moves urgent cargo on, and stops the jobs that hold some.
    pub(super) async fn reroute_urgent(&self, now: Timestamp) -> Result<(), store::Error> {
        let lanes = lane::all(&self.shard).await?;
        let batches = lanes.iter().filter(|(_, lane)| lane.via == Via::Batch);
        let (mut all, mut to_servers, mut to_others) = (Vec::new(), Vec::new(), Vec::new());
        for (id, lane) in batches {
            all.push(id.0);
            if let Some(other) = self.another_way(lane, URGENT, Via::Realtime) {
                to_servers.push(id.0);
                self.move_on(*id, &other, now).await?;
            }
            if self
                .another_way(lane, TimeDelta::zero(), Via::Batch)
                .is_some()
            {
                to_others.push(id.0);
            }
        }
        let ever = Uuid::nil();
        let urgent = id::floor(now - URGENT);
        let mut stopped = 0;
        for (lanes, loaded, gathered_before) in [
            (&to_servers, (ever, urgent), now),
            (&to_others, (urgent, id::floor(now)), now - SLOW),
            (&all, (ever, id::floor(now - TOO_OLD)), now),
        ] {
            let jobs = Unwanted {
                lanes,
                loaded,
                gathered_before,
            };
            stopped += submission::want_cancelled(&self.shard, jobs, now).await?;
        }
        if stopped > 0 {
            tracing::warn!(shard = %self.shard.name, stopped, "jobs that hold urgent cargo are stopped");
        }
        Ok(())
    }

    /// The lane that cargo of an age takes after this one, if it is another and goes that way.
    fn another_way(&self, lane: &Lane, age: TimeDelta, via: Via) -> Option<Lane> {
        let catalogue = self.catalogue.borrow();
        let model = catalogue.find(&lane.model)?;
        let tried = Some((lane.provider.as_str(), lane.via));
        let routes = model.routes.on(&self.shard.name);
        let next = Lane::of(model, routes.next(tried, age, |_| true));
        (next.via == via && next != *lane).then_some(next)
    }

    async fn move_on(&self, from: LaneId, to: &Lane, now: Timestamp) -> Result<(), store::Error> {
        let to = lane::ensure(&self.shard, to).await?;
        let ids = (
            id::floor(now - DEADLINE - OVERDUE_MARGIN),
            id::floor(now - URGENT),
        );
        while waiting::move_on(&self.shard, from, to, ids, MAX_ROWS_PER_STATEMENT).await? > 0 {}
        Ok(())
    }
}
