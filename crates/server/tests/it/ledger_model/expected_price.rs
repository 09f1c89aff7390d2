//! The oracle's own price arithmetic. It shares nothing with that of the domain.

use domain::money::Money;
use domain::price::{Price, PriceStep, Rates};
use domain::token_buckets::TokenBuckets;

/// Prices are per this many tokens.
const TOKENS_PER_PRICE: i128 = 1_000_000;

/// Nano-dollars per million tokens: input, cached input, written for minutes, written for an hour,
/// output.
type ExpectedRates = [i64; 5];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExpectedPrice {
    base: ExpectedRates,
    /// Other rates above so many input tokens, smallest first.
    steps: &'static [(u64, ExpectedRates)],
}

/// The longest cache mark of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheMark {
    None,
    Minutes,
    Hour,
}

impl ExpectedPrice {
    pub(super) const fn flat(input: i64, output: i64) -> Self {
        Self::by_bucket([input, input, input, input, output], &[])
    }

    pub(super) const fn by_bucket(
        base: ExpectedRates,
        steps: &'static [(u64, ExpectedRates)],
    ) -> Self {
        Self { base, steps }
    }

    pub(super) fn is_flat(&self) -> bool {
        let [input, cached, minutes, hour, _] = self.base;
        self.steps.is_empty() && [cached, minutes, hour] == [input; 3]
    }

    pub(super) fn is_beyond_step(&self, usage: TokenBuckets) -> bool {
        self.rates(input_tokens(usage)) != self.base
    }

    fn rates(&self, input: u64) -> ExpectedRates {
        let reached = self.steps.iter().rev().find(|(above, _)| input > *above);
        reached.map_or(self.base, |(_, rates)| *rates)
    }

    /// What an answer costs, rounded to the nearest nano-dollar.
    pub(super) fn cost(&self, usage: TokenBuckets) -> i64 {
        let tokens = [
            usage.fresh,
            usage.cached,
            usage.cache_write,
            usage.cache_write_1h,
            usage.output,
        ];
        let rates = self.rates(input_tokens(usage));
        let exact: i128 = tokens
            .into_iter()
            .zip(rates)
            .map(|(tokens, rate)| i128::from(tokens) * i128::from(rate))
            .sum();
        let rest = exact % TOKENS_PER_PRICE;
        let rounded = exact / TOKENS_PER_PRICE + i128::from(2 * rest >= TOKENS_PER_PRICE);
        i64::try_from(rounded).unwrap()
    }

    /// The most that a request can cost: every size that ends a step is tried.
    pub(super) fn bound(&self, input: u64, output: u64, mark: CacheMark) -> i64 {
        let ends = self.steps.iter().map(|(above, _)| *above);
        let sizes = ends.filter(|above| *above < input).chain([input]);
        let costs = sizes.map(|size| {
            let [fresh, cached, minutes, hour, answer] = self.rates(size);
            let dearest = match mark {
                CacheMark::None => fresh.max(cached),
                CacheMark::Minutes => fresh.max(cached).max(minutes),
                CacheMark::Hour => fresh.max(cached).max(minutes).max(hour),
            };
            i128::from(size) * i128::from(dearest) + i128::from(output) * i128::from(answer)
        });
        let exact = costs.max().unwrap();
        let rounded_up = exact / TOKENS_PER_PRICE + i128::from(exact % TOKENS_PER_PRICE != 0);
        i64::try_from(rounded_up).unwrap()
    }

    /// The price as the system under test knows it.
    pub(super) fn to_price(self) -> Price {
        let mut steps = self.steps.iter().map(|(above, rates)| PriceStep {
            above: *above,
            rates: to_rates(*rates),
        });
        Price {
            base: to_rates(self.base),
            steps: [steps.next(), steps.next()],
        }
    }
}

fn input_tokens(usage: TokenBuckets) -> u64 {
    usage.fresh + usage.cached + usage.cache_write + usage.cache_write_1h
}

fn to_rates(rates: ExpectedRates) -> Rates {
    let [input, cached_input, cache_write, cache_write_1h, output] = rates.map(Money);
    Rates {
        input,
        cached_input,
        cache_write,
        cache_write_1h,
        output,
    }
}
