//! What a model costs, as the file says it.

use domain::model::{Kind, Price, Prices};
use domain::money::Money;

use crate::catalogue::entry::{Dollars, PriceEntry, RateEntry};
use crate::notes::Notes;

/// More for a million tokens is a slip of the decimal point.
const HIGHEST: Money = Money(10_000_000_000_000);

pub(super) fn checked(price: &PriceEntry, kind: Kind, notes: &mut Notes<'_>) -> Option<Prices> {
    let batch = rate(&price.batch, kind, "price.batch", notes);
    let realtime = price
        .realtime
        .as_ref()
        .map(|realtime| rate(realtime, kind, "price.realtime", notes));
    Some(Prices {
        batch: batch?,
        realtime: match realtime {
            Some(realtime) => Some(realtime?),
            None => None,
        },
    })
}

fn rate(rate: &RateEntry, kind: Kind, field: &str, notes: &mut Notes<'_>) -> Option<Price> {
    let input = dollars(&rate.input, &format!("{field}.input"), notes);
    let output = match (&rate.output, kind) {
        (Some(output), _) => dollars(output, &format!("{field}.output"), notes),
        // Vectors are not counted in tokens.
        (None, Kind::Embedding) => Some(Money::ZERO),
        (None, Kind::Chat) => {
            notes.fault(&format!("{field}.output is missing: a chat model has both"));
            None
        }
    };
    Some(Price {
        input: input?,
        output: output?,
    })
}

fn dollars(dollars: &Dollars, field: &str, notes: &mut Notes<'_>) -> Option<Money> {
    let text = match dollars {
        Dollars::Text(text) => text,
        Dollars::Bare(_) => {
            notes.fault(&format!(
                "{field} is dollars in quotes, such as \"0.075\", so that they are exact"
            ));
            return None;
        }
    };
    let read: Option<Money> = text.parse().ok();
    let amount = read.filter(|amount| (Money::ZERO..=HIGHEST).contains(amount));
    if amount.is_none() {
        notes.fault(&format!(
            "{field} `{text}` is not dollars from 0 to {HIGHEST} with at most nine decimals"
        ));
    }
    amount
}
