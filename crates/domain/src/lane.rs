//! A lane: the cargo that may share a batch. On one shard it has one provider, one model, one kind
//! and one inference mode.

use crate::model::{Model, ModelKind};
use crate::route::{InferenceMode, Route};
use crate::route_choice::{self, LoadSituation, RouteReason};

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

    /// The lane of a load without a deadline on a model without flex.
    pub fn preferred(model: &Model, shard: &str) -> Self {
        Self::of(model, model.routes.preferred(shard))
    }

    /// The lane of a new load, and why it takes that way if there was a choice.
    pub fn for_load(
        model: &Model,
        shard: &str,
        situation: &LoadSituation,
    ) -> (Self, Option<RouteReason>) {
        if !situation.has_deadline && !route_choice::has_choice(model, shard, false) {
            return (Self::preferred(model, shard), None);
        }
        let choice = route_choice::choose(model, shard, situation);
        (Self::of(model, choice.route), Some(choice.reason))
    }
}
