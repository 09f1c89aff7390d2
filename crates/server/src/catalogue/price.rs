//! Validation of a model's prices and of the cost of its routes.

use domain::model::{ModelKind, Prices};
use domain::money::Money;
use domain::price::{MAX_STEPS, Price, PriceStep, Rates};

use crate::catalogue::price_entry::{CostEntry, DollarsEntry, PriceEntry, RateEntry, RateFields};
use crate::entry_errors::EntryErrors;

/// Dollars for a million tokens. A higher price is most likely a wrong decimal point.
const MAX_PRICE: Money = Money(10_000_000_000_000);
/// No model reads more input tokens.
const MAX_STEP_TOKENS: i64 = 1_000_000_000;

pub(super) fn validate(
    price: &PriceEntry,
    kind: ModelKind,
    errors: &mut EntryErrors<'_>,
) -> Option<Prices> {
    let base = rates(price.batch.rates(), kind, "price.batch", errors);
    let above: Vec<i64> = price.steps.iter().map(|step| step.above).collect();
    let above = step_limits(&above, "price.steps", errors);
    let batch_rates = price.steps.iter().map(|step| Some(step.batch.rates()));
    let batch_steps = step_rates(batch_rates, kind, "batch", errors);
    let realtime_base = price
        .realtime
        .as_ref()
        .map(|realtime| rates(realtime.rates(), kind, "price.realtime", errors));
    let realtime_rates = price
        .steps
        .iter()
        .map(|step| step.realtime.as_ref().map(RateEntry::rates));
    let realtime_steps = if price.realtime.is_some() {
        step_rates(realtime_rates, kind, "realtime", errors)
    } else {
        if realtime_rates.flatten().next().is_some() {
            errors.add("price.steps has realtime rates, but price.realtime is missing");
        }
        None
    };
    let realtime = match realtime_base {
        Some(base) => Some(stepped(base?, above.as_deref()?, &realtime_steps?)),
        None => None,
    };
    Some(Prices {
        batch: stepped(base?, above.as_deref()?, &batch_steps?),
        realtime,
    })
}

/// What the provider of a route bills. None when something is wrong.
pub(super) fn validate_cost(
    cost: &CostEntry,
    kind: ModelKind,
    errors: &mut EntryErrors<'_>,
) -> Option<Price> {
    let base = rates(cost.rates(), kind, "cost", errors);
    let above: Vec<i64> = cost.steps.iter().map(|step| step.above).collect();
    let above = step_limits(&above, "cost.steps", errors);
    let mut steps = Some(Vec::new());
    for (index, step) in cost.steps.iter().enumerate() {
        let field = format!("cost.steps[{index}]");
        add_or_clear(&mut steps, rates(step.rates(), kind, &field, errors));
    }
    Some(stepped(base?, &above?, &steps?))
}

/// The sizes of the steps: few, and ascending.
fn step_limits(above: &[i64], field: &str, errors: &mut EntryErrors<'_>) -> Option<Vec<u64>> {
    let before = errors.count();
    if above.len() > MAX_STEPS {
        let count = above.len();
        errors.add(&format!(
            "{field} has {count} steps; a price has at most {MAX_STEPS}"
        ));
    }
    let mut limits = Vec::with_capacity(above.len());
    for (index, tokens) in above.iter().enumerate() {
        let field = format!("{field}[{index}].above");
        let limit = errors.whole_number(&field, Some(*tokens), 1..=MAX_STEP_TOKENS);
        if limit.is_some() && limit <= limits.last().copied() {
            errors.add(&format!(
                "{field} {tokens} is not larger than that of the step before it"
            ));
        }
        limits.extend(limit);
    }
    (errors.count() == before).then_some(limits)
}

/// The rates of the steps of the batch or the realtime price.
fn step_rates<'entry>(
    entries: impl Iterator<Item = Option<RateFields<'entry>>>,
    kind: ModelKind,
    mode: &str,
    errors: &mut EntryErrors<'_>,
) -> Option<Vec<Rates>> {
    let mut steps = Some(Vec::new());
    for (index, entry) in entries.enumerate() {
        let field = format!("price.steps[{index}].{mode}");
        let read = if let Some(entry) = entry {
            rates(entry, kind, &field, errors)
        } else {
            errors.add(&format!(
                "{field} is missing: a model with a {mode} price needs it in each step"
            ));
            None
        };
        add_or_clear(&mut steps, read);
    }
    steps
}

fn add_or_clear(steps: &mut Option<Vec<Rates>>, read: Option<Rates>) {
    match read {
        Some(rates) => steps.iter_mut().for_each(|steps| steps.push(rates)),
        None => *steps = None,
    }
}

fn stepped(base: Rates, above: &[u64], rates: &[Rates]) -> Price {
    let steps = above.iter().zip(rates);
    let mut steps = steps.map(|(above, rates)| PriceStep {
        above: *above,
        rates: *rates,
    });
    Price {
        base,
        steps: std::array::from_fn(|_| steps.next()),
    }
}

fn rates(
    entry: RateFields<'_>,
    kind: ModelKind,
    field: &str,
    errors: &mut EntryErrors<'_>,
) -> Option<Rates> {
    let input = dollars(entry.input, &format!("{field}.input"), errors);
    let output = match (entry.output, kind) {
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
    let mut bucket = |entry: Option<&DollarsEntry>, name: &str| match entry {
        Some(entry) => dollars(entry, &format!("{field}.{name}"), errors),
        None => input,
    };
    let cached_input = bucket(entry.cached_input, "cached_input");
    let cache_write = bucket(entry.cache_write, "cache_write");
    let cache_write_1h = bucket(entry.cache_write_1h, "cache_write_1h");
    Some(Rates {
        input: input?,
        cached_input: cached_input?,
        cache_write: cache_write?,
        cache_write_1h: cache_write_1h?,
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

#[cfg(test)]
mod tests;
