//! Caches the lanes of a shard by id.

use std::collections::HashMap;
use std::sync::Arc;

use domain::lane::{Lane, LaneId};
use store::Shard;
use store::shard::lane;

#[derive(Debug, Default)]
pub(crate) struct LaneCache {
    lanes: HashMap<LaneId, Arc<Lane>>,
}

impl LaneCache {
    pub(crate) async fn find(
        &mut self,
        shard: &Shard,
        id: LaneId,
    ) -> Result<Arc<Lane>, store::Error> {
        if let Some(lane) = self.lanes.get(&id) {
            return Ok(lane.clone());
        }
        let lane = Arc::new(lane::find(shard, id).await?);
        self.lanes.insert(id, lane.clone());
        Ok(lane)
    }
}
