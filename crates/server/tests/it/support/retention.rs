//! The retention of a project, and the sweep that applies it.

use std::time::Duration;

use domain::retention::ProjectRetention;
use store::shard::retention;
use workers::stage::Stage as _;

use crate::support::{Customer, TestService};

impl TestService {
    pub(crate) async fn choose_retention(&self, customer: &Customer, chosen: ProjectRetention) {
        let set = retention::set(&self.north, customer.project, chosen, self.now());
        set.await.unwrap();
    }

    /// Advances the clock, and sweeps.
    pub(crate) async fn sweep_after(&mut self, by: Duration) {
        let now = self.clock.advance(by);
        self.worker_sets[0].sweep.step(now).await.unwrap();
    }

    pub(crate) async fn count_parcel_blocks(&self) -> i64 {
        let blocks = sqlx::query_scalar("select count(*) from shard.parcel_block");
        blocks.fetch_one(&self.north.pool).await.unwrap()
    }
}
