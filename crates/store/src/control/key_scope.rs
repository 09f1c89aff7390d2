//! The columns of a key's row that store its scope.

use domain::id::ApiKeyId;
use domain::key_scope::{KeyRight, KeyScope, parse_address_range};
use domain::key_spending::SpendingCap;
use domain::money::Money;
use uuid::Uuid;

use crate::Error;

/// Null where there is no restriction.
pub(super) struct KeyScopeRow {
    pub(super) rights: Option<Vec<String>>,
    pub(super) models: Option<Vec<String>>,
    pub(super) addresses: Option<Vec<String>>,
    pub(super) monthly_cap: Option<i64>,
    pub(super) spending_key: Option<Uuid>,
}

impl From<&KeyScope> for KeyScopeRow {
    fn from(scope: &KeyScope) -> Self {
        let rights = scope.rights.as_deref();
        let ranges = scope.addresses.as_deref();
        Self {
            rights: rights.map(|rights| {
                let names = rights.iter().map(|right| right.as_str().to_owned());
                names.collect()
            }),
            models: scope.models.clone(),
            addresses: ranges.map(|ranges| ranges.iter().map(ToString::to_string).collect()),
            monthly_cap: scope.spending_cap.map(|cap| cap.monthly.nanos()),
            spending_key: scope.spending_cap.map(|cap| cap.key.uuid()),
        }
    }
}

/// A scope that cannot be read is an error: the key must not become unrestricted.
impl TryFrom<KeyScopeRow> for KeyScope {
    type Error = Error;

    fn try_from(row: KeyScopeRow) -> Result<Self, Error> {
        let rights = row.rights.map(|names| {
            let rights = names.iter().map(|name| name.parse::<KeyRight>());
            rights.collect::<Result<_, _>>()
        });
        let ranges = row.addresses.map(|texts| {
            let ranges = texts.iter().map(|text| parse_address_range(text));
            ranges.collect::<Result<_, _>>()
        });
        let cap = row.monthly_cap.zip(row.spending_key);
        Ok(Self {
            rights: rights.transpose().map_err(|_| corrupt("rights"))?,
            models: row.models,
            addresses: ranges.transpose().map_err(|_| corrupt("addresses"))?,
            spending_cap: cap.map(|(monthly, key)| SpendingCap {
                key: ApiKeyId::from(key),
                monthly: Money(monthly),
            }),
        })
    }
}

const fn corrupt(column: &'static str) -> Error {
    Error::Corrupt {
        table: "control.api_key",
        column,
    }
}
