//! A lane: the cargo that may share a batch. On one shard it has one provider, one model, one kind
//! and one inference mode.

use crate::model::{Model, ModelKind};
use crate::route::{InferenceMode, Route};

/// What identifies a lane within its shard.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane {
    pub provider: String,
    pub model: String,
    pub kind: ModelKind,
    pub via: InferenceMode,
}

/// The id of a lane's row on its shard.
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

    /// The lane of a new load.
    pub fn for_load(model: &Model, shard: &str) -> Self {
        Self::of(model, model.routes.preferred(shard))
    }
}
