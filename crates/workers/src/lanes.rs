//! The lanes of a shard by number: what a batch's lane stands for.

use std::collections::HashMap;
use std::sync::Arc;

use domain::lane::{Lane, LaneId};
use store::Shard;
use store::shard::lane;

#[derive(Debug, Default)]
pub(crate) struct Lanes {
    known: HashMap<LaneId, Arc<Lane>>,
}

impl Lanes {
    pub(crate) async fn find(
        &mut self,
        shard: &Shard,
        id: LaneId,
    ) -> Result<Arc<Lane>, store::Error> {
        if let Some(lane) = self.known.get(&id) {
            return Ok(lane.clone());
        }
        let lane = Arc::new(lane::find(shard, id).await?);
        self.known.insert(id, lane.clone());
        Ok(lane)
    }
}
