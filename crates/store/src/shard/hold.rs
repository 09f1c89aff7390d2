//! The columns of a cargo's row that store its hold.

use domain::hold::Hold;
use domain::money::Money;
use domain::price::{MAX_STEPS, Price, PriceStep, Rates};
use serde_json::{Value, json};

use crate::Error;
use crate::number::signed;

/// The hold of one cargo; null where nothing is held.
#[derive(Debug, Clone, Default)]
pub(crate) struct HoldRow {
    pub(crate) held: Option<i64>,
    pub(crate) price_input: Option<i64>,
    pub(crate) price_output: Option<i64>,
    /// Null where every input token costs `price_input`.
    pub(crate) price_buckets: Option<Value>,
    pub(crate) reserved_tokens: Option<i64>,
}

impl TryFrom<HoldRow> for Hold {
    type Error = Error;

    fn try_from(row: HoldRow) -> Result<Self, Error> {
        let flat = row.price_input.zip(row.price_output);
        let flat = flat.map(|(input, output)| Price::flat(Money(input), Money(output)));
        let price = match (flat, &row.price_buckets) {
            (Some(flat), Some(buckets)) => {
                let read = read_buckets(flat, buckets);
                Some(read.ok_or(Error::Corrupt {
                    table: "cargo",
                    column: "price_buckets",
                })?)
            }
            (price, _) => price,
        };
        Ok(Self {
            amount: row.held.map_or(Money::ZERO, Money),
            price,
            tokens: row
                .reserved_tokens
                .and_then(|tokens| u64::try_from(tokens).ok())
                .unwrap_or_default(),
        })
    }
}

/// The same columns of many cargo.
#[derive(Debug, Default)]
pub(crate) struct HoldColumns {
    pub(crate) held: Vec<Option<i64>>,
    pub(crate) price_input: Vec<Option<i64>>,
    pub(crate) price_output: Vec<Option<i64>>,
    pub(crate) price_buckets: Vec<Option<Value>>,
    pub(crate) reserved_tokens: Vec<Option<i64>>,
}

impl HoldColumns {
    pub(crate) fn push(&mut self, hold: &Hold) {
        let some = !hold.is_empty();
        let tokens = signed(hold.tokens);
        self.held.push(some.then_some(hold.amount.nanos()));
        self.price_input
            .push(hold.price.map(|price| price.base.input.nanos()));
        self.price_output
            .push(hold.price.map(|price| price.base.output.nanos()));
        self.price_buckets
            .push(hold.price.as_ref().and_then(write_buckets));
        self.reserved_tokens.push(some.then_some(tokens));
    }
}

/// What the columns for input and output do not say; None for a flat price. `shard.worth` reads the
/// same document.
fn write_buckets(price: &Price) -> Option<Value> {
    if price.is_flat() {
        return None;
    }
    let steps = price.steps.iter().flatten().map(|step| {
        let Rates {
            input,
            cached_input,
            cache_write,
            cache_write_1h,
            output,
        } = step.rates;
        json!({
            "above": step.above,
            "input": input.nanos(),
            "cached_input": cached_input.nanos(),
            "cache_write": cache_write.nanos(),
            "cache_write_1h": cache_write_1h.nanos(),
            "output": output.nanos(),
        })
    });
    let mut buckets = json!({
        "cached_input": price.base.cached_input.nanos(),
        "cache_write": price.base.cache_write.nanos(),
        "cache_write_1h": price.base.cache_write_1h.nanos(),
    });
    let steps: Vec<Value> = steps.collect();
    if let (Value::Object(buckets), false) = (&mut buckets, steps.is_empty()) {
        buckets.insert("steps".to_owned(), steps.into());
    }
    Some(buckets)
}

fn read_buckets(flat: Price, buckets: &Value) -> Option<Price> {
    let mut price = Price {
        base: Rates {
            cached_input: read_rate(buckets, "cached_input")?,
            cache_write: read_rate(buckets, "cache_write")?,
            cache_write_1h: read_rate(buckets, "cache_write_1h")?,
            ..flat.base
        },
        ..flat
    };
    let steps = match buckets.get("steps") {
        Some(steps) => steps.as_array()?.as_slice(),
        None => &[],
    };
    if steps.len() > MAX_STEPS {
        return None;
    }
    for (place, step) in price.steps.iter_mut().zip(steps) {
        let rates = Rates {
            input: read_rate(step, "input")?,
            cached_input: read_rate(step, "cached_input")?,
            cache_write: read_rate(step, "cache_write")?,
            cache_write_1h: read_rate(step, "cache_write_1h")?,
            output: read_rate(step, "output")?,
        };
        let above = step.get("above")?.as_u64()?;
        *place = Some(PriceStep { above, rates });
    }
    Some(price)
}

fn read_rate(rates: &Value, bucket: &str) -> Option<Money> {
    Some(Money(rates.get(bucket)?.as_i64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn rates(first: i64) -> Rates {
        Rates {
            input: Money(first),
            cached_input: Money(first + 1),
            cache_write: Money(first + 2),
            cache_write_1h: Money(first + 3),
            output: Money(first + 4),
        }
    }

    const fn step(above: u64, first: i64) -> PriceStep {
        PriceStep {
            above,
            rates: rates(first),
        }
    }

    fn stored(price: Price) -> HoldRow {
        let mut columns = HoldColumns::default();
        columns.push(&Hold {
            amount: Money(7),
            price: Some(price),
            tokens: 9,
        });
        HoldRow {
            held: columns.held[0],
            price_input: columns.price_input[0],
            price_output: columns.price_output[0],
            price_buckets: columns.price_buckets[0].clone(),
            reserved_tokens: columns.reserved_tokens[0],
        }
    }

    #[test]
    fn every_price_comes_back_from_its_columns() {
        let base = rates(10);
        for steps in [
            [None, None],
            [Some(step(5, 20)), None],
            [Some(step(5, 20)), Some(step(6, 30))],
        ] {
            let price = Price { base, steps };
            let hold = Hold::try_from(stored(price)).unwrap();
            assert_eq!(hold.price, Some(price));
            assert_eq!((hold.amount, hold.tokens), (Money(7), 9));
        }
    }

    #[test]
    fn a_flat_price_needs_no_buckets_and_old_rows_keep_their_meaning() {
        let flat = Price::flat(Money(3), Money(4));
        let row = stored(flat);
        assert_eq!(row.price_buckets, None);
        assert_eq!(Hold::try_from(row).unwrap().price, Some(flat));
        assert!(Hold::try_from(HoldRow::default()).unwrap().is_empty());
    }

    #[test]
    fn a_document_that_is_no_price_is_an_error() {
        for broken in [
            json!({}),
            json!({"cached_input": 1, "cache_write": 1, "cache_write_1h": "1"}),
            json!({"cached_input": 1, "cache_write": 1, "cache_write_1h": 1, "steps": [{}]}),
            json!([]),
        ] {
            let row = HoldRow {
                price_buckets: Some(broken),
                ..stored(Price::flat(Money(3), Money(4)))
            };
            assert!(Hold::try_from(row).is_err());
        }
    }
}
