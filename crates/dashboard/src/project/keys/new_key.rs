//! The form of a new API key: its name, expiry and scope.

use chrono::TimeDelta;
use domain::id::ApiKeyId;
use domain::key_scope::{KeyRight, KeyScope, parse_address_range};
use domain::key_spending::SpendingCap;
use domain::model::Catalogue;
use domain::money::Money;
use domain::time::Timestamp;
use serde::Deserialize;

use crate::page_error::PageError;

/// Entries in a list of models or addresses.
const MAX_LIST_ENTRIES: usize = 100;

/// Empty fields mean no restriction.
#[derive(Debug, Deserialize)]
pub(crate) struct NewKeyForm {
    pub(super) name: String,
    /// Days until the key expires; empty for never.
    #[serde(default)]
    days: String,
    #[serde(default)]
    rights: String,
    #[serde(default)]
    models: String,
    #[serde(default)]
    addresses: String,
    /// In dollars per month.
    #[serde(default)]
    cap: String,
}

impl NewKeyForm {
    pub(super) fn expires_at(&self, now: Timestamp) -> Result<Option<Timestamp>, PageError> {
        let days = match self.days.as_str() {
            "" => return Ok(None),
            days => days.parse::<u16>(),
        };
        let days = days.map_err(|_| invalid("Enter the expiry in whole days."))?;
        Ok(Some(now + TimeDelta::days(i64::from(days))))
    }

    /// The scope of the new key with this id.
    pub(super) fn scope(&self, id: ApiKeyId, catalogue: &Catalogue) -> Result<KeyScope, PageError> {
        let rights = parse_list(&self.rights, |text| {
            text.parse::<KeyRight>()
                .map_err(|wrong| PageError::Invalid(format!("{wrong}.")))
        });
        let models = parse_list(&self.models, |text| {
            if catalogue.models().any(|model| model.id == text) {
                Ok(text.to_owned())
            } else {
                Err(PageError::Invalid(format!("There is no model {text}.")))
            }
        });
        let addresses = parse_list(&self.addresses, |text| {
            parse_address_range(text).map_err(|wrong| {
                PageError::Invalid(format!("{text} is not an address range: {wrong}."))
            })
        });
        let cap = Some(self.cap.trim()).filter(|text| !text.is_empty());
        Ok(KeyScope {
            rights: rights?,
            models: models?,
            addresses: addresses?,
            spending_cap: cap.map(|text| parse_cap(text, id)).transpose()?,
        })
    }
}

fn parse_cap(text: &str, key: ApiKeyId) -> Result<SpendingCap, PageError> {
    let monthly = text.parse::<Money>().ok();
    let monthly = monthly.filter(|amount| *amount > Money::ZERO);
    let wrong = "Enter the spending cap in dollars, above zero, such as 12.50.";
    Ok(SpendingCap {
        key,
        monthly: monthly.ok_or_else(|| invalid(wrong))?,
    })
}

/// Entries between commas or spaces; None if there are none.
fn parse_list<T>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, PageError>,
) -> Result<Option<Vec<T>>, PageError> {
    let entries = text.split(|c: char| c == ',' || c.is_whitespace());
    let entries: Vec<&str> = entries.filter(|entry| !entry.is_empty()).collect();
    if entries.is_empty() {
        return Ok(None);
    }
    if entries.len() > MAX_LIST_ENTRIES {
        return Err(invalid("Enter at most 100 models and 100 address ranges."));
    }
    entries
        .into_iter()
        .map(parse)
        .collect::<Result<_, _>>()
        .map(Some)
}

fn invalid(message: &str) -> PageError {
    PageError::Invalid(message.to_owned())
}
