//! How arguments are read: into something that cannot be wrong, or a word of help.

use chrono::{NaiveDate, NaiveTime};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use domain::id::{Id, Named};
use domain::money::Money;
use domain::organization::Plan;
use domain::person::Role;
use domain::time::Timestamp;

/// As long as the column takes.
const LONGEST_NAME: usize = 200;

pub(super) fn id<T: Named>(text: &str) -> Result<Id<T>, String> {
    text.parse()
        .map_err(|_| format!("expected {} and 32 hex digits", T::PREFIX))
}

/// A name is for people: it is printed as it is.
pub(super) fn name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control)
    {
        return Err(format!(
            "a name is 1 to {LONGEST_NAME} printable characters"
        ));
    }
    Ok(name.to_owned())
}

pub(super) fn moment(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|_| "expected a moment like 2027-01-31T00:00:00Z".to_owned())
}

/// A day begins at midnight, UTC.
pub(super) fn day(text: &str) -> Result<Timestamp, String> {
    let day = text.parse::<NaiveDate>();
    day.map(|day| day.and_time(NaiveTime::MIN).and_utc())
        .map_err(|_| "expected a day like 2027-01-31".to_owned())
}

pub(super) fn day_or_moment(text: &str) -> Result<Timestamp, String> {
    day(text).or_else(|_| moment(text)).map_err(|_| {
        "expected a day like 2027-01-31, or a moment like 2027-01-31T12:00:00Z".to_owned()
    })
}

/// An amount that somebody paid.
pub(super) fn dollars(text: &str) -> Result<Money, String> {
    match text.parse::<Money>() {
        Ok(amount) if amount > Money::ZERO => Ok(amount),
        Ok(_) => Err("an amount is above zero; `withdraw` takes credit out".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A reference or a note: printed as it is, like a name.
pub(super) fn remark(text: &str) -> Result<String, String> {
    name(text).map_err(|_| format!("expected 1 to {LONGEST_NAME} printable characters"))
}

/// How many tokens an organization may use in a month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quota {
    /// What its plan allows.
    Plan,
    Own(u64),
}

/// As much as a row can hold, which nobody ever uses.
pub(super) const UNLIMITED: u64 = i64::MAX.unsigned_abs();

pub(super) fn quota(text: &str) -> Result<Quota, String> {
    match text {
        "plan" => Ok(Quota::Plan),
        "unlimited" => Ok(Quota::Own(UNLIMITED)),
        number => match number.parse() {
            Ok(tokens) if tokens <= UNLIMITED => Ok(Quota::Own(tokens)),
            _ => Err("expected a number of tokens, `plan` or `unlimited`".to_owned()),
        },
    }
}

pub(super) fn plan() -> impl TypedValueParser<Value = Plan> {
    PossibleValuesParser::new(Plan::ALL.map(Plan::as_str)).try_map(|text| text.parse::<Plan>())
}

pub(super) fn role() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str)).try_map(|text| text.parse::<Role>())
}
