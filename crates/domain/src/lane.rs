//! A lane: what may travel together. On one shard, one provider account, one model, one kind.

use crate::model::{Kind, Model};

/// The name of a lane within its shard.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane {
    pub provider: String,
    pub model: String,
    pub kind: Kind,
}

/// A lane's row on its shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneId(pub i32);

impl From<&Model> for Lane {
    fn from(model: &Model) -> Self {
        Self {
            provider: model.provider.clone(),
            model: model.id.clone(),
            kind: model.kind,
        }
    }
}
