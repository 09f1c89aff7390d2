//! Which cargo a check reads.

use sqlx::types::Uuid;

use crate::shard::waiting::id_bounds;

/// Cargo from `first` to `last`, both included. With `ids`, only these.
#[derive(Debug, Clone)]
pub(super) struct CargoSlice {
    pub(super) first: Uuid,
    pub(super) last: Uuid,
    pub(super) ids: Option<Vec<Uuid>>,
}

impl CargoSlice {
    pub(super) fn from_id(first: Uuid) -> Self {
        Self {
            first,
            last: Uuid::max(),
            ids: None,
        }
    }

    /// All cargo with a greater id.
    pub(super) fn after(position: Uuid) -> Self {
        Self::from_id(Uuid::from_u128(position.as_u128().saturating_add(1)))
    }

    /// Cargo with greater ids than `position`, up to `last`.
    pub(super) fn between(position: Uuid, last: Uuid) -> Self {
        Self {
            last,
            ..Self::after(position)
        }
    }

    pub(super) fn of(ids: Vec<Uuid>) -> Self {
        let (first, last) = id_bounds(&ids);
        Self {
            first,
            last,
            ids: Some(ids),
        }
    }
}
