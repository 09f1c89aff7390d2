//! A timestamp as every body writes it.

use domain::time::{self, Timestamp};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// ISO 8601, UTC, with a `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(
    as = Moment,
    value_type = String,
    format = DateTime,
    example = "2026-11-15T09:30:00.000000Z"
)]
pub struct WireTimestamp(pub Timestamp);

impl From<Timestamp> for WireTimestamp {
    fn from(moment: Timestamp) -> Self {
        Self(moment)
    }
}

impl Serialize for WireTimestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&time::to_wire(self.0))
    }
}
