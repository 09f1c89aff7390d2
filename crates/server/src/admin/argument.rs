//! How arguments are read: into something that cannot be wrong, or a word of help.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use domain::id::{Id, Named};
use domain::organization::Plan;
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

pub(super) fn plan() -> impl TypedValueParser<Value = Plan> {
    PossibleValuesParser::new(Plan::ALL.map(Plan::as_str)).try_map(|text| text.parse::<Plan>())
}
