//! A moment as every body writes it.

use domain::time::{self, Timestamp};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// ISO 8601, UTC, with a `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-11-15T09:30:00.000000Z")]
pub struct Moment(pub Timestamp);

impl From<Timestamp> for Moment {
    fn from(moment: Timestamp) -> Self {
        Self(moment)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&time::to_wire(self.0))
    }
}
