//! Parsers of command-line arguments; an error says what was expected.

use chrono::{NaiveDate, NaiveTime};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use domain::id::{Id, IdKind};
use domain::money::Money;
use domain::organization::Plan;
use domain::person::Role;
use domain::time::Timestamp;

/// The length of the database columns.
const MAX_NAME_CHARS: usize = 200;

pub(super) fn id<T: IdKind>(text: &str) -> Result<Id<T>, String> {
    text.parse()
        .map_err(|_| format!("expected {} and 32 hex digits", T::PREFIX))
}

/// A name is printed unchanged, so it must not contain control characters.
pub(super) fn name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty()
        || name.chars().count() > MAX_NAME_CHARS
        || name.chars().any(char::is_control)
    {
        return Err(format!(
            "a name must be 1 to {MAX_NAME_CHARS} printable characters"
        ));
    }
    Ok(name.to_owned())
}

pub(super) fn moment(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|_| "expected a time like 2027-01-31T00:00:00Z".to_owned())
}

/// A day begins at midnight, UTC.
pub(super) fn day(text: &str) -> Result<Timestamp, String> {
    let day = text.parse::<NaiveDate>();
    day.map(|day| day.and_time(NaiveTime::MIN).and_utc())
        .map_err(|_| "expected a day like 2027-01-31".to_owned())
}

pub(super) fn day_or_moment(text: &str) -> Result<Timestamp, String> {
    day(text).or_else(|_| moment(text)).map_err(|_| {
        "expected a day like 2027-01-31, or a time like 2027-01-31T12:00:00Z".to_owned()
    })
}

/// An amount of a payment.
pub(super) fn dollars(text: &str) -> Result<Money, String> {
    match text.parse::<Money>() {
        Ok(amount) if amount > Money::ZERO => Ok(amount),
        Ok(_) => Err("an amount must be above zero; use `withdraw` to take credit out".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The most that an API key may spend in a month.
pub(super) fn monthly_cap(text: &str) -> Result<Money, String> {
    match text.parse::<Money>() {
        Ok(amount) if amount > Money::ZERO => Ok(amount),
        Ok(_) => Err("a cap must be above zero; `key deactivate` stops a key".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A reference or a note: printed unchanged, like a name.
pub(super) fn remark(text: &str) -> Result<String, String> {
    name(text).map_err(|_| format!("expected 1 to {MAX_NAME_CHARS} printable characters"))
}

/// The monthly token quota of an organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenQuota {
    /// The quota of its plan.
    Plan,
    Own(u64),
}

/// The largest value of the database column, which stands for no limit.
pub(super) const UNLIMITED_TOKENS: u64 = i64::MAX.unsigned_abs();

pub(super) fn quota(text: &str) -> Result<TokenQuota, String> {
    match text {
        "plan" => Ok(TokenQuota::Plan),
        "unlimited" => Ok(TokenQuota::Own(UNLIMITED_TOKENS)),
        number => match number.parse() {
            Ok(tokens) if tokens <= UNLIMITED_TOKENS => Ok(TokenQuota::Own(tokens)),
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
