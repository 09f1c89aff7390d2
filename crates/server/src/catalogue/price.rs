//! Validation of a model's prices.

use domain::model::{ModelKind, Price, Prices};
use domain::money::Money;

use crate::catalogue::entry::{DollarsEntry, PriceEntry, RateEntry};
use crate::entry_errors::EntryErrors;

/// Dollars for a million tokens. A higher price is most likely a wrong decimal point.
const MAX_PRICE: Money = Money(10_000_000_000_000);

pub(super) fn validate(
    price: &PriceEntry,
    kind: ModelKind,
    errors: &mut EntryErrors<'_>,
) -> Option<Prices> {
    let batch = rate(&price.batch, kind, "price.batch", errors);
    let realtime = price
        .realtime
        .as_ref()
        .map(|realtime| rate(realtime, kind, "price.realtime", errors));
    Some(Prices {
        batch: batch?,
        realtime: match realtime {
            Some(realtime) => Some(realtime?),
            None => None,
        },
    })
}

fn rate(
    rate: &RateEntry,
    kind: ModelKind,
    field: &str,
    errors: &mut EntryErrors<'_>,
) -> Option<Price> {
    let input = dollars(&rate.input, &format!("{field}.input"), errors);
    let output = match (&rate.output, kind) {
        (Some(output), _) => dollars(output, &format!("{field}.output"), errors),
        // An embedding has no output tokens.
        (None, ModelKind::Embedding) => Some(Money::ZERO),
        (None, ModelKind::Chat) => {
            errors.add(&format!(
                "{field}.output is missing: a chat model needs input and output"
            ));
            None
        }
    };
    Some(Price {
        input: input?,
        output: output?,
    })
}

fn dollars(dollars: &DollarsEntry, field: &str, errors: &mut EntryErrors<'_>) -> Option<Money> {
    let text = match dollars {
        DollarsEntry::Text(text) => text,
        DollarsEntry::Unquoted(_) => {
            errors.add(&format!(
                "{field} must be dollars in quotes, such as \"0.075\", so that it is exact"
            ));
            return None;
        }
    };
    let read: Option<Money> = text.parse().ok();
    let amount = read.filter(|amount| (Money::ZERO..=MAX_PRICE).contains(amount));
    if amount.is_none() {
        errors.add(&format!(
            "{field} `{text}` is not an amount from 0 to {MAX_PRICE} dollars with at most nine \
             decimals"
        ));
    }
    amount
}
