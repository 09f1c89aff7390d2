//! Timestamps. They are compared with a `now` that the caller passes in.

use chrono::{DateTime, NaiveTime, SecondsFormat, Utc};

/// A time in UTC, to the microsecond, as PostgreSQL stores it.
pub type Timestamp = DateTime<Utc>;

/// The source of the time: the shard's clock in production, a manual clock in tests.
pub trait Clock: Send + Sync + std::fmt::Debug {
    fn now(&self) -> Timestamp;

    /// Adjusts the clock to the time that the shard just reported.
    fn synchronize(&self, shard_time: Timestamp);
}

/// The start of the day (UTC).
pub fn start_of_day(moment: Timestamp) -> Timestamp {
    moment.date_naive().and_time(NaiveTime::MIN).and_utc()
}

/// The start of the hour. Events are counted by hour.
pub fn start_of_hour(moment: Timestamp) -> Timestamp {
    let seconds = moment.timestamp().div_euclid(3600) * 3600;
    Timestamp::from_timestamp(seconds, 0).unwrap_or(moment)
}

/// ISO 8601 with a `Z`, as every body of the contract writes it.
pub fn to_wire(moment: Timestamp) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Micros, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_begins_at_its_first_moment() {
        let at = |seconds| DateTime::from_timestamp(seconds, 7).unwrap();
        let begins = |seconds| start_of_hour(at(seconds)).timestamp();
        assert_eq!(
            [7200, 10_799, 10_800, -1].map(begins),
            [7200, 7200, 10_800, -3600]
        );
        assert_eq!(
            start_of_hour(at(7200)),
            DateTime::from_timestamp(7200, 0).unwrap()
        );
    }

    #[test]
    fn the_wire_form_ends_in_z() {
        let moment = DateTime::from_timestamp_micros(1_767_225_600_000_001).unwrap();
        assert_eq!(to_wire(moment), "2026-01-01T00:00:00.000001Z");
    }
}
