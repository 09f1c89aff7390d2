//! Prices per million tokens, by bucket and by the size of the input.

use crate::money::Money;
use crate::token_buckets::TokenBuckets;

/// A price has at most this many steps.
pub const MAX_STEPS: usize = 2;

/// A price is for so many tokens.
const TOKENS_PER_PRICE: i128 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Price {
    pub base: Rates,
    /// Other rates for the whole request when its input is larger. Sorted by size, smallest first.
    pub steps: [Option<PriceStep>; MAX_STEPS],
}

/// Dollars per million tokens of each bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rates {
    pub input: Money,
    pub cached_input: Money,
    pub cache_write: Money,
    pub cache_write_1h: Money,
    pub output: Money,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PriceStep {
    /// The rates count from one token more than this.
    pub above: u64,
    pub rates: Rates,
}

/// How long a request asks the provider to cache its prompt. The longest mark counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum CacheWriting {
    #[default]
    None,
    Minutes,
    Hour,
}

impl Rates {
    /// Every input token costs the same, cached or not.
    pub const fn flat(input: Money, output: Money) -> Self {
        Self {
            input,
            cached_input: input,
            cache_write: input,
            cache_write_1h: input,
            output,
        }
    }

    /// The most that an input token can cost.
    pub(crate) fn dearest_input(self, writing: CacheWriting) -> Money {
        let read = self.input.max(self.cached_input);
        match writing {
            CacheWriting::None => read,
            CacheWriting::Minutes => read.max(self.cache_write),
            CacheWriting::Hour => read.max(self.cache_write).max(self.cache_write_1h),
        }
    }

    /// In millionths of a nano-dollar, so nothing is rounded.
    fn exact_cost(self, used: TokenBuckets) -> i128 {
        exact_part(used.fresh, self.input)
            .saturating_add(exact_part(used.cached, self.cached_input))
            .saturating_add(exact_part(used.cache_write, self.cache_write))
            .saturating_add(exact_part(used.cache_write_1h, self.cache_write_1h))
            .saturating_add(exact_part(used.output, self.output))
    }
}

impl Price {
    pub const fn flat(input: Money, output: Money) -> Self {
        Self {
            base: Rates::flat(input, output),
            steps: [None; MAX_STEPS],
        }
    }

    /// Whether two columns, input and output, say everything.
    pub fn is_flat(&self) -> bool {
        *self == Self::flat(self.base.input, self.base.output)
    }

    /// The rates of a whole request with so much input.
    pub fn rates_for(&self, input_tokens: u64) -> Rates {
        let steps = self.steps.iter().flatten();
        steps
            .take_while(|step| input_tokens > step.above)
            .last()
            .map_or(self.base, |step| step.rates)
    }

    /// The most that so many tokens can cost, whatever buckets they come in. The input may also be
    /// smaller, so the rates of every step below it count.
    pub fn max_cost(&self, input_tokens: u64, output_tokens: u64, writing: CacheWriting) -> Money {
        let cost = |rates: Rates, input: u64| {
            exact_part(input, rates.dearest_input(writing))
                .saturating_add(exact_part(output_tokens, rates.output))
        };
        let (mut rates, mut exact) = (self.base, 0);
        let steps = self.steps.iter().flatten();
        for step in steps.take_while(|step| input_tokens > step.above) {
            exact = exact.max(cost(rates, step.above));
            rates = step.rates;
        }
        exact = exact.max(cost(rates, input_tokens));
        to_money(
            exact
                .saturating_add(TOKENS_PER_PRICE - 1)
                .div_euclid(TOKENS_PER_PRICE),
        )
    }

    /// The only place that rounds: once, over the sum of all buckets.
    pub fn rounded_cost(self, used: TokenBuckets) -> Money {
        let exact = self.rates_for(used.input_total()).exact_cost(used);
        to_money(
            exact
                .saturating_add(TOKENS_PER_PRICE / 2)
                .div_euclid(TOKENS_PER_PRICE),
        )
    }
}

fn exact_part(tokens: u64, price: Money) -> i128 {
    i128::from(tokens).saturating_mul(price.nanos().into())
}

fn to_money(nanos: i128) -> Money {
    Money(i64::try_from(nanos).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
