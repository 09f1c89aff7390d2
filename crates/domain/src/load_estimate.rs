//! Estimates what loads will use and cost, from what settled cargo used of its bounds.
//!
//! Cargo of a model is compared by two shares: its input tokens as a part of its input bound, and
//! its output tokens as a part of its output bound. Quantiles cannot be added. So the estimate adds
//! means and variances, as if the loads were independent, and states p10 and p90 of the normal
//! distribution with that mean and variance. The uncertainty of the mean itself, which is large
//! with few samples, is part of the variance.

use crate::held_bounds::recover_bounds;
use crate::hold::{Hold, TokenBounds};
use crate::money::Money;
use crate::price::{Price, Rates};
use crate::time::Timestamp;
use crate::token_buckets::{TokenBuckets, TokenUsage};

/// With fewer samples of a model, only the bounds are stated.
pub const MIN_SAMPLES: u64 = 20;
/// From the mean of a normal distribution to its p90, in standard deviations.
const P90_DEVIATIONS: f64 = 1.2816;
/// Rates are for so many tokens.
const TOKENS_PER_RATE: f64 = 1e6;

/// A cargo that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettledCargo {
    pub loaded_at: Timestamp,
    pub hold: Hold,
    pub usage: TokenBuckets,
}

/// Which shares of its bounds settled cargo of a model used: sums over the samples.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UsageProfile {
    samples: u64,
    since: Option<Timestamp>,
    input: f64,
    output: f64,
    input_squared: f64,
    output_squared: f64,
    product: f64,
    used: TokenBuckets,
}

/// A load that is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EstimatedLoad {
    pub bounds: TokenBounds,
    pub hold: Hold,
    /// The model's realtime price, if it is known.
    pub realtime: Option<Price>,
}

/// The loads of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelLoads {
    pub profile: UsageProfile,
    pub loads: Vec<EstimatedLoad>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadEstimate {
    /// The most that the loads can cost.
    pub hold: Money,
    pub bounds: TokenUsage,
    /// Of the model with the fewest.
    pub samples: u64,
    /// When the oldest sample was loaded.
    pub since: Option<Timestamp>,
    /// None with too few samples.
    pub cost: Option<CostRange>,
    /// None with too few samples, without a realtime price, and for free loads.
    pub realtime: Option<Money>,
    /// None with too few samples.
    pub tokens: Option<TokenRange>,
}

/// Never more than the hold, and in this order: low, likely, high.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CostRange {
    pub low: Money,
    pub likely: Money,
    pub high: Money,
}

/// Never more than the bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenRange {
    pub likely_input: u64,
    pub output_p10: u64,
    pub output_p50: u64,
    pub output_p90: u64,
}

impl UsageProfile {
    /// Adds a sample. A cargo whose bounds are not known is none.
    pub fn add(&mut self, settled: &SettledCargo) {
        let Some(bounds) = recover_bounds(&settled.hold) else {
            return;
        };
        let used = settled.usage;
        let input = share(used.input_total(), bounds.input_tokens);
        let output = share(used.output, bounds.output_tokens);
        self.samples += 1;
        let since = self.since.map(|since| since.min(settled.loaded_at));
        self.since = since.or(Some(settled.loaded_at));
        self.input += input;
        self.output += output;
        self.input_squared += input * input;
        self.output_squared += output * output;
        self.product += input * output;
        self.used = self.used + used;
    }

    pub const fn samples(&self) -> u64 {
        self.samples
    }

    pub const fn is_sufficient(&self) -> bool {
        self.samples >= MIN_SAMPLES
    }

    fn mean(&self, sum: f64) -> f64 {
        sum / to_float(self.samples.max(1))
    }

    fn covariance(&self, product: f64, one: f64, other: f64) -> f64 {
        self.mean(product) - self.mean(one) * self.mean(other)
    }

    /// What an input token usually costs at these rates, in nano-dollars: some come from a cache.
    fn usual_input_rate(&self, rates: Rates) -> f64 {
        let used = self.used;
        let total = used.input_total();
        if total == 0 {
            return rate_per_token(rates.input);
        }
        let parts = [
            (used.fresh, rates.input),
            (used.cached, rates.cached_input),
            (used.cache_write, rates.cache_write),
            (used.cache_write_1h, rates.cache_write_1h),
        ];
        let parts = parts.map(|(tokens, rate)| to_float(tokens) * rate_per_token(rate));
        parts.iter().sum::<f64>() / to_float(total)
    }

    /// The cost of a load that uses all its tokens, split into input and output.
    fn full_cost(&self, load: &EstimatedLoad, price: &Price) -> WeightedShares {
        let input = to_float(load.bounds.input);
        let rates = price.rates_for(to_count(input * self.mean(self.input)));
        WeightedShares {
            input: input * self.usual_input_rate(rates),
            output: to_float(load.bounds.output) * rate_per_token(rates.output),
        }
    }
}

/// An amount of one load: this much for its whole input bound, and this much for its output bound.
#[derive(Debug, Clone, Copy)]
struct WeightedShares {
    input: f64,
    output: f64,
}

/// A sum over loads of one model.
#[derive(Debug, Clone, Copy, Default)]
struct ShareSum {
    input: f64,
    output: f64,
    input_squared: f64,
    output_squared: f64,
    product: f64,
}

impl ShareSum {
    fn add(&mut self, load: WeightedShares) {
        self.input += load.input;
        self.output += load.output;
        self.input_squared += load.input * load.input;
        self.output_squared += load.output * load.output;
        self.product += load.input * load.output;
    }

    fn distribution(&self, profile: &UsageProfile) -> Distribution {
        // The mean of few samples is itself uncertain, in the same way for every load.
        let of_mean = 1.0 / to_float(profile.samples.max(1));
        let p = profile;
        let input = p.covariance(p.input_squared, p.input, p.input);
        let output = p.covariance(p.output_squared, p.output, p.output);
        let both = p.covariance(p.product, p.input, p.output);
        let variance = (self.input_squared + self.input * self.input * of_mean) * input
            + (self.output_squared + self.output * self.output * of_mean) * output
            + 2.0 * (self.product + self.input * self.output * of_mean) * both;
        Distribution {
            mean: self.input * p.mean(p.input) + self.output * p.mean(p.output),
            variance: variance.max(0.0),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Distribution {
    mean: f64,
    variance: f64,
}

impl Distribution {
    fn add(&mut self, other: Self) {
        self.mean += other.mean;
        self.variance += other.variance;
    }

    fn p10(self) -> f64 {
        self.mean - P90_DEVIATIONS * self.variance.sqrt()
    }

    fn p90(self) -> f64 {
        self.mean + P90_DEVIATIONS * self.variance.sqrt()
    }
}

/// The sums over all models.
#[derive(Debug, Clone, Copy, Default)]
struct EstimateSums {
    cost: Distribution,
    input: Distribution,
    output: Distribution,
    realtime: Distribution,
}

pub fn estimate(models: &[ModelLoads]) -> LoadEstimate {
    let loads = || models.iter().flat_map(|model| &model.loads);
    let hold: Money = loads().map(|load| load.hold.amount).sum();
    let bounds = loads().fold(TokenUsage::default(), |sum, load| TokenUsage {
        input_tokens: sum.input_tokens.saturating_add(load.bounds.input),
        output_tokens: sum.output_tokens.saturating_add(load.bounds.output),
    });
    let profiles = || models.iter().map(|model| &model.profile);
    let is_known = !models.is_empty() && profiles().all(UsageProfile::is_sufficient);
    let sums = is_known.then(|| add_models(models));
    let free = hold.is_zero().then(CostRange::default);
    let mut priced = loads().filter(|load| !load.hold.amount.is_zero());
    let has_realtime = !hold.is_zero() && priced.all(|load| load.realtime.is_some());
    LoadEstimate {
        hold,
        bounds,
        samples: profiles().map(|it| it.samples).min().unwrap_or_default(),
        since: profiles().filter_map(|it| it.since).min(),
        cost: free.or_else(|| Some(cost_range(sums?.cost, hold))),
        realtime: sums
            .filter(|_| has_realtime)
            .map(|sums| to_money(sums.realtime.mean)),
        tokens: sums.map(|sums| token_range(&sums, bounds)),
    }
}

fn add_models(models: &[ModelLoads]) -> EstimateSums {
    let mut sums = EstimateSums::default();
    for ModelLoads { profile, loads } in models {
        let (mut cost, mut realtime) = (ShareSum::default(), ShareSum::default());
        let (mut input, mut output) = (ShareSum::default(), ShareSum::default());
        for load in loads {
            input.add(WeightedShares {
                input: to_float(load.bounds.input),
                output: 0.0,
            });
            output.add(WeightedShares {
                input: 0.0,
                output: to_float(load.bounds.output),
            });
            let Some(price) = &load.hold.price else {
                continue;
            };
            cost.add(profile.full_cost(load, price));
            if let Some(price) = &load.realtime {
                realtime.add(profile.full_cost(load, price));
            }
        }
        sums.cost.add(cost.distribution(profile));
        sums.input.add(input.distribution(profile));
        sums.output.add(output.distribution(profile));
        sums.realtime.add(realtime.distribution(profile));
    }
    sums
}

fn cost_range(cost: Distribution, hold: Money) -> CostRange {
    let likely = to_money(cost.mean).min(hold);
    CostRange {
        low: to_money(cost.p10()).min(likely),
        likely,
        high: to_money(cost.p90()).max(likely).min(hold),
    }
}

fn token_range(sums: &EstimateSums, bounds: TokenUsage) -> TokenRange {
    let most = bounds.output_tokens;
    let middle = to_count(sums.output.mean).min(most);
    TokenRange {
        likely_input: to_count(sums.input.mean).min(bounds.input_tokens),
        output_p10: to_count(sums.output.p10()).min(middle),
        output_p50: middle,
        output_p90: to_count(sums.output.p90()).max(middle).min(most),
    }
}

/// At most 1. Providers may count more tokens than a bound, and then we bear the rest.
fn share(used: u64, bound: u64) -> f64 {
    if bound == 0 {
        return 0.0;
    }
    (to_float(used) / to_float(bound)).min(1.0)
}

/// Nano-dollars.
fn rate_per_token(rate: Money) -> f64 {
    to_float(u64::try_from(rate.nanos()).unwrap_or_default()) / TOKENS_PER_RATE
}

#[expect(clippy::cast_precision_loss, reason = "an estimate has fewer digits")]
const fn to_float(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and a negative estimate is none"
)]
fn to_count(estimate: f64) -> u64 {
    estimate.max(0.0).round() as u64
}

/// Never negative.
fn to_money(nanos: f64) -> Money {
    Money(i64::try_from(to_count(nanos)).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
