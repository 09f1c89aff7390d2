//! Recovers the token bounds of a cargo from its hold, because its row keeps only the hold.
//!
//! A hold has the sum of the two bounds and their highest cost. Input and output have different
//! rates, so both numbers together give both bounds, exactly.

use crate::hold::Hold;
use crate::price::{CacheWriting, Price, Rates};
use crate::token_buckets::TokenUsage;

/// Costs are rounded to a nano-dollar, and rates are for so many tokens.
const TOKENS_PER_RATE: i128 = 1_000_000;
/// The row does not say whether the load marked its prompt for a cache.
const ALL_WRITINGS: [CacheWriting; 3] = [
    CacheWriting::None,
    CacheWriting::Minutes,
    CacheWriting::Hour,
];

/// None without a price, or if other bounds may make the same hold: with one rate for input and
/// output, or with an input that may be beyond a step of the price.
pub fn recover_bounds(hold: &Hold) -> Option<TokenUsage> {
    let price = hold.price?;
    let mut steps = price.steps.iter().flatten();
    if steps.any(|step| hold.tokens > step.above) {
        return None;
    }
    let mut found: Option<TokenUsage> = None;
    for writing in ALL_WRITINGS {
        let bounds = match solve(hold, price.base, writing) {
            RateSolution::Bounds(bounds) => bounds,
            RateSolution::NoBounds => continue,
            RateSolution::Ambiguous => return None,
        };
        let is_held = is_held_for(hold, &price, bounds, writing);
        if is_held && found.is_some_and(|earlier| earlier != bounds) {
            return None;
        }
        found = found.or(is_held.then_some(bounds));
    }
    found
}

/// The bounds that cost the hold, if the input has the rate of one kind of cache mark.
#[derive(Debug, Clone, Copy)]
enum RateSolution {
    /// If any do, these.
    Bounds(TokenUsage),
    NoBounds,
    Ambiguous,
}

fn solve(hold: &Hold, rates: Rates, writing: CacheWriting) -> RateSolution {
    let output_rate = i128::from(rates.output.nanos());
    let gap = output_rate - i128::from(rates.dearest_input(writing).nanos());
    // With a smaller gap, several bounds have the same cost after rounding.
    if gap.abs() < TOKENS_PER_RATE {
        return RateSolution::Ambiguous;
    }
    let cost = i128::from(hold.amount.nanos()) * TOKENS_PER_RATE;
    let cost_as_output = i128::from(hold.tokens) * output_rate;
    // The cost was rounded up by less than the gap, so the quotient rounded down is the input.
    let quotient = (cost - cost_as_output).div_euclid(gap.abs());
    let input = if gap > 0 { -quotient } else { quotient };
    let input = u64::try_from(input).ok();
    let bounds = input.and_then(|input_tokens| {
        let output_tokens = hold.tokens.checked_sub(input_tokens)?;
        Some(TokenUsage {
            input_tokens,
            output_tokens,
        })
    });
    bounds.map_or(RateSolution::NoBounds, RateSolution::Bounds)
}

fn is_held_for(hold: &Hold, price: &Price, bounds: TokenUsage, writing: CacheWriting) -> bool {
    price.max_cost(bounds.input_tokens, bounds.output_tokens, writing) == hold.amount
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hold::TokenBounds;
    use crate::money::Money;
    use crate::price::{MAX_STEPS, PriceStep};

    fn held(bounds: TokenBounds, price: Price) -> Hold {
        Hold {
            amount: bounds.max_cost(&price),
            price: Some(price),
            tokens: bounds.tokens().total(),
        }
    }

    fn any_rates() -> impl Strategy<Value = Rates> {
        let rate = || (0..50_000_i64).prop_map(|it| Money(it * 1_000_000));
        (rate(), rate(), rate(), rate(), rate()).prop_map(
            |(input, cached_input, cache_write, cache_write_1h, output)| Rates {
                input,
                cached_input,
                cache_write,
                cache_write_1h,
                output,
            },
        )
    }

    fn any_bounds() -> impl Strategy<Value = TokenBounds> {
        let writing = prop::sample::select(ALL_WRITINGS.to_vec());
        (0..2_000_000_u64, 0..200_000_u64, writing).prop_map(|(input, output, writing)| {
            TokenBounds {
                input,
                output,
                writing,
            }
        })
    }

    proptest! {
        #[test]
        fn a_flat_price_gives_the_bounds_back(
            bounds in any_bounds(), input in 1..1_000_i64, more in 1..1_000_i64, swap in any::<bool>(),
        ) {
            let (low, high) = (Money(input * 1_000_000), Money((input + more) * 1_000_000));
            let price = if swap { Price::flat(high, low) } else { Price::flat(low, high) };
            prop_assert_eq!(recover_bounds(&held(bounds, price)), Some(bounds.tokens()));
        }

        #[test]
        fn any_price_gives_the_bounds_back_or_nothing(
            bounds in any_bounds(), base in any_rates(), above in 1..1_000_000_u64, rates in any_rates(),
        ) {
            let mut steps = [None; MAX_STEPS];
            steps[0] = Some(PriceStep { above, rates });
            for price in [Price { base, steps: [None; MAX_STEPS] }, Price { base, steps }] {
                let found = recover_bounds(&held(bounds, price));
                prop_assert!(found.is_none_or(|found| found == bounds.tokens()), "{:?}", found);
            }
        }
    }

    #[test]
    fn a_hold_without_a_price_or_with_one_rate_says_nothing() {
        assert_eq!(recover_bounds(&Hold::default()), None);
        let bounds = TokenBounds {
            input: 7,
            output: 9,
            writing: CacheWriting::None,
        };
        let price = Price::flat(Money(5_000_000), Money(5_000_000));
        assert_eq!(recover_bounds(&held(bounds, price)), None);
    }
}
