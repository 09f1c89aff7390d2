//! A cache of a shard's lane ids. A lane's row is created once and its id never changes.

use std::collections::HashMap;

use domain::lane::{Lane, LaneId};
use parking_lot::RwLock;
use store::Shard;
use store::shard::lane;

#[derive(Debug, Default)]
pub(crate) struct LaneIdCache {
    ids: RwLock<HashMap<Lane, LaneId>>,
}

impl LaneIdCache {
    pub(crate) async fn find_or_create(
        &self,
        shard: &Shard,
        wanted: Lane,
    ) -> Result<LaneId, store::Error> {
        if let Some(id) = self.ids.read().get(&wanted) {
            return Ok(*id);
        }
        let id = lane::ensure(shard, &wanted).await?;
        self.ids.write().insert(wanted, id);
        Ok(id)
    }
}
