//! A lane: what may travel together. On one shard, one provider, one model, one kind,
//! one way.

use crate::model::{Kind, Model};
use crate::route::{Route, Via};

/// The name of a lane within its shard.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane {
    pub provider: String,
    pub model: String,
    pub kind: Kind,
    pub via: Via,
}

/// A lane's row on its shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneId(pub i32);

impl Lane {
    pub fn of(model: &Model, route: &Route) -> Self {
        Self {
            provider: route.provider.clone(),
            model: model.id.clone(),
            kind: model.kind,
            via: route.via,
        }
    }

    /// The lane that a load enters.
    pub fn entered(model: &Model, shard: &str) -> Self {
        Self::of(model, model.routes.preferred(shard))
    }
}
