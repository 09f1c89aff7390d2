//! A cache of a shard's lane ids. A lane's row is created once and its id never changes.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use domain::lane::{Lane, LaneId};
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
        if let Some(id) = self
            .ids
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&wanted)
        {
            return Ok(*id);
        }
        let id = lane::ensure(shard, &wanted).await?;
        self.ids
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(wanted, id);
        Ok(id)
    }
}
