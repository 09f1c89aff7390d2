//! Moments. Everything with a moment is compared with a `now` that is passed in.

use chrono::{DateTime, SecondsFormat, Utc};

/// A moment in UTC, to the microsecond, as PostgreSQL keeps it.
pub type Timestamp = DateTime<Utc>;

/// Who knows what time it is: the shard's clock in production, a hand-moved one in tests.
pub trait Clock: Send + Sync + std::fmt::Debug {
    fn now(&self) -> Timestamp;

    /// Learns the time that the shard itself just told.
    fn learn(&self, told: Timestamp);
}

/// ISO 8601 with a `Z`, as every body of the contract writes it.
pub fn to_wire(moment: Timestamp) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Micros, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_form_ends_in_z() {
        let moment = DateTime::from_timestamp_micros(1_767_225_600_000_001).unwrap();
        assert_eq!(to_wire(moment), "2026-01-01T00:00:00.000001Z");
    }
}
