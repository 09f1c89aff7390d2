//! What is short of time leaves the batches: for a model with another way, from hour 20 on.

use chrono::TimeDelta;
use domain::id;
use domain::lane::{Lane, LaneId};
use domain::route::{Route, URGENT, Via};
use domain::time::Timestamp;
use store::shard::{lane, submission, waiting};

use super::{MOST, Sweep};

/// A job that holds cargo of this age is stopped, so that it has ended when the cargo must.
const TOO_OLD: TimeDelta = TimeDelta::hours(25);

impl Sweep {
    pub(super) async fn hurry(&self, now: Timestamp) -> Result<(), store::Error> {
        let lanes = lane::all(&self.shard).await?;
        let batches = lanes.iter().filter(|(_, lane)| lane.via == Via::Batch);
        let mut with_another: Vec<i32> = Vec::new();
        let mut all: Vec<i32> = Vec::new();
        for (id, lane) in batches {
            all.push(id.0);
            if let Some(other) = self.another_way(lane) {
                with_another.push(id.0);
                self.move_on(*id, &other, now).await?;
            }
        }
        let (urgent, old) = (id::floor(now - URGENT), id::floor(now - TOO_OLD));
        let hurried = submission::want_cancelled(&self.shard, &with_another, urgent, now).await?
            + submission::want_cancelled(&self.shard, &all, old, now).await?;
        if hurried > 0 {
            tracing::warn!(shard = %self.shard.name, hurried, "jobs that hold cargo short of time are stopped");
        }
        Ok(())
    }

    /// The lane of a model's server, if it has one.
    fn another_way(&self, lane: &Lane) -> Option<Lane> {
        let catalogue = self.catalogue.borrow();
        let model = catalogue.find(&lane.model)?;
        let tried = Some((lane.provider.as_str(), lane.via));
        let routes = model.routes.on(&self.shard.name);
        let next: &Route = routes.next(tried, URGENT, |_| true);
        (next.via == Via::Realtime).then(|| Lane::of(model, next))
    }

    async fn move_on(&self, from: LaneId, to: &Lane, now: Timestamp) -> Result<(), store::Error> {
        let (to, before) = (
            lane::ensure(&self.shard, to).await?,
            id::floor(now - URGENT),
        );
        while waiting::move_on(&self.shard, from, to, before, MOST).await? > 0 {}
        Ok(())
    }
}
