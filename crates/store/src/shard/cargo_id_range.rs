//! A range of cargo ids, which is a range of time.

use domain::id;
use domain::time::Timestamp;
use sqlx::types::Uuid;

/// Ids from `first` to just before `beyond`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CargoIdRange {
    pub first: Uuid,
    pub beyond: Uuid,
}

impl CargoIdRange {
    /// The ids of cargo that was loaded from `from` on and before `before`.
    pub fn loaded_between(from: Timestamp, before: Timestamp) -> Self {
        Self {
            first: id::first_id_at(from),
            beyond: id::first_id_at(before),
        }
    }
}
