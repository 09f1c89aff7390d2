//! A cache of a shard's lane ids. A lane's row is created once and its id never changes.

use std::collections::HashMap;

use domain::lane::{Lane, LaneId};
use parking_lot::RwLock;
use store::Shard;
use store::shard::lane;
use store::single_flight::SingleFlight;

#[derive(Debug, Default)]
pub(crate) struct LaneIdCache {
    ids: RwLock<HashMap<Lane, LaneId>>,
    creation: SingleFlight,
}

impl LaneIdCache {
    pub(crate) async fn find_or_create(
        &self,
        shard: &Shard,
        wanted: Lane,
    ) -> Result<LaneId, store::Error> {
        let known = || self.ids.read().get(&wanted).copied();
        let create = async {
            let id = lane::ensure(shard, &wanted).await?;
            self.ids.write().insert(wanted.clone(), id);
            Ok(id)
        };
        self.creation.get_or_read(known, create).await
    }
}
