//! Reads `deadline_seconds` and `deadline_at`: until when the caller needs the answer.

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};
use domain::time::{Timestamp, to_wire};

use super::reader::{FieldValue, NOT_A_STRING, ValueMismatch, ValueReader};
use crate::api_error::ApiError;
use crate::validation_errors::ValidationErrors;

const MIN_SECONDS: u32 = 60;
const MAX_SECONDS: u32 = 86_400;
const NOT_SECONDS: ValueMismatch = ValueMismatch("int_type", "Input should be an integer");
const OUT_OF_RANGE: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be between 60 and 86400 seconds",
);
const NOT_A_TIME: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be a time of RFC 3339, such as 2026-11-15T12:00:00Z",
);

/// Until when the caller needs the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestedDeadline {
    AfterLoad(TimeDelta),
    At(Timestamp),
}

impl RequestedDeadline {
    /// The deadline of a load at this time.
    pub(crate) fn resolve(self, now: Timestamp) -> Result<Timestamp, ApiError> {
        let earliest = now + TimeDelta::seconds(i64::from(MIN_SECONDS));
        let latest = now + TimeDelta::seconds(i64::from(MAX_SECONDS));
        match self {
            Self::AfterLoad(delay) => Ok(now + delay),
            Self::At(moment) if (earliest..=latest).contains(&moment) => Ok(moment),
            Self::At(_) => {
                let (earliest, latest) = (to_wire(earliest), to_wire(latest));
                let msg = format!(
                    "Input should be 60 seconds to 24 hours after the load: between {earliest} \
                     and {latest}"
                );
                Err(ApiError::validation_at(["body", "deadline_at"], msg))
            }
        }
    }
}

/// The deadline of the two fields, of which only one may be given.
pub(super) fn choose_deadline(
    seconds: FieldValue<TimeDelta>,
    moment: FieldValue<Timestamp>,
    faults: &mut ValidationErrors,
) -> Option<RequestedDeadline> {
    if !seconds.is_absent() && !moment.is_absent() {
        let msg = "deadline_seconds and deadline_at cannot be combined";
        faults.add("value_error", msg);
    }
    let seconds = seconds.optional(faults, "deadline_seconds");
    let moment = moment.optional(faults, "deadline_at");
    let after = seconds.map(RequestedDeadline::AfterLoad);
    after.or(moment.map(RequestedDeadline::At))
}

#[derive(Debug)]
pub(super) struct DeadlineSecondsReader;

impl ValueReader<'_> for DeadlineSecondsReader {
    type Value = TimeDelta;
    const MISMATCH: ValueMismatch = NOT_SECONDS;

    fn read_integer(self, integer: i128) -> FieldValue<TimeDelta> {
        match u32::try_from(integer) {
            Ok(seconds) if (MIN_SECONDS..=MAX_SECONDS).contains(&seconds) => {
                FieldValue::Valid(TimeDelta::seconds(i64::from(seconds)))
            }
            Ok(_) | Err(_) => FieldValue::Invalid(OUT_OF_RANGE),
        }
    }
}

#[derive(Debug)]
pub(super) struct DeadlineAtReader;

impl ValueReader<'_> for DeadlineAtReader {
    type Value = Timestamp;
    const MISMATCH: ValueMismatch = NOT_A_STRING;

    fn read_text(self, text: &str) -> FieldValue<Timestamp> {
        let moment = DateTime::parse_from_rfc3339(text);
        moment.map_or(FieldValue::Invalid(NOT_A_TIME), |moment| {
            FieldValue::Valid(moment.with_timezone(&Utc).trunc_subsecs(6))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_a_minute_to_a_day_after_the_load() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let at = |text: &str| RequestedDeadline::At(text.parse().unwrap()).resolve(now);
        let after = RequestedDeadline::AfterLoad(TimeDelta::hours(2));
        assert_eq!(
            to_wire(after.resolve(now).unwrap()),
            "2026-11-15T14:00:00.000000Z"
        );
        assert!(at("2026-11-15T12:01:00Z").is_ok() && at("2026-11-16T12:00:00Z").is_ok());
        assert!(at("2026-11-16T12:00:01Z").is_err());
        let refused = at("2026-11-15T12:00:59Z").unwrap_err().into_body();
        insta::assert_snapshot!(serde_json::to_string(&refused).unwrap(), @r#"{"detail":[{"type":"value_error","loc":["body","deadline_at"],"msg":"Input should be 60 seconds to 24 hours after the load: between 2026-11-15T12:01:00.000000Z and 2026-11-16T12:00:00.000000Z"}]}"#);
    }
}
