//! The lanes of a shard, remembered: a lane's row is made once and never changes its name.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use domain::lane::{Lane, LaneId};
use store::Shard;
use store::shard::lane;

#[derive(Debug, Default)]
pub(crate) struct Lanes {
    known: RwLock<HashMap<Lane, LaneId>>,
}

impl Lanes {
    pub(crate) async fn find(&self, shard: &Shard, wanted: Lane) -> Result<LaneId, store::Error> {
        if let Some(id) = self
            .known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&wanted)
        {
            return Ok(*id);
        }
        let id = lane::ensure(shard, &wanted).await?;
        self.known
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(wanted, id);
        Ok(id)
    }
}
