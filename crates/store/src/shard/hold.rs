//! The columns of a cargo's row that store its hold.

use domain::hold::Hold;
use domain::model::Price;
use domain::money::Money;

use crate::number::signed;

/// The hold of one cargo; null where nothing is held.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HoldRow {
    pub(crate) held: Option<i64>,
    pub(crate) price_input: Option<i64>,
    pub(crate) price_output: Option<i64>,
    pub(crate) reserved_tokens: Option<i64>,
}

impl From<HoldRow> for Hold {
    fn from(row: HoldRow) -> Self {
        let price = row.price_input.zip(row.price_output);
        Self {
            amount: row.held.map_or(Money::ZERO, Money),
            price: price.map(|(input, output)| Price {
                input: Money(input),
                output: Money(output),
            }),
            tokens: row
                .reserved_tokens
                .and_then(|tokens| u64::try_from(tokens).ok())
                .unwrap_or_default(),
        }
    }
}

/// The same columns of many cargo.
#[derive(Debug, Default)]
pub(crate) struct HoldColumns {
    pub(crate) held: Vec<Option<i64>>,
    pub(crate) price_input: Vec<Option<i64>>,
    pub(crate) price_output: Vec<Option<i64>>,
    pub(crate) reserved_tokens: Vec<Option<i64>>,
}

impl HoldColumns {
    pub(crate) fn push(&mut self, hold: &Hold) {
        let some = !hold.is_empty();
        let tokens = signed(hold.tokens);
        self.held.push(some.then_some(hold.amount.nanos()));
        self.price_input
            .push(hold.price.map(|price| price.input.nanos()));
        self.price_output
            .push(hold.price.map(|price| price.output.nanos()));
        self.reserved_tokens.push(some.then_some(tokens));
    }
}
