//! What tokens cost by bucket and by step, and the most that they can cost.

use proptest::prelude::*;

use super::*;
use crate::token_buckets::TokenUsage;

/// One nano-dollar for a token.
const NANO: i64 = 1_000_000;

const fn rates(nanos: [i64; 5]) -> Rates {
    let [input, cached_input, cache_write, cache_write_1h, output] = nanos;
    Rates {
        input: Money(input * NANO),
        cached_input: Money(cached_input * NANO),
        cache_write: Money(cache_write * NANO),
        cache_write_1h: Money(cache_write_1h * NANO),
        output: Money(output * NANO),
    }
}

const BASE: Rates = rates([100, 10, 125, 200, 400]);
const UPPER: Rates = rates([200, 20, 250, 400, 600]);
const STEPPED: Price = Price {
    base: BASE,
    steps: [
        Some(PriceStep {
            above: 1000,
            rates: UPPER,
        }),
        None,
    ],
};
const BUCKETS: Price = Price {
    base: BASE,
    steps: [None; MAX_STEPS],
};

const fn used(fresh: u64, cached: u64, cache_write: u64, hour: u64, output: u64) -> TokenBuckets {
    TokenBuckets {
        fresh,
        cached,
        cache_write,
        cache_write_1h: hour,
        output,
        thinking: output / 2,
    }
}

#[test]
fn each_bucket_has_its_own_rate() {
    for (tokens, nanos) in [
        (used(1, 0, 0, 0, 0), 100),
        (used(0, 1, 0, 0, 0), 10),
        (used(0, 0, 1, 0, 0), 125),
        (used(0, 0, 0, 1, 0), 200),
        // Thoughts are a part of the output, and not charged once more.
        (used(0, 0, 0, 0, 2), 800),
        (used(1, 1, 1, 1, 1), 835),
    ] {
        assert_eq!(BUCKETS.rounded_cost(tokens), Money(nanos), "{tokens:?}");
    }
}

#[test]
fn the_whole_input_chooses_the_step_for_every_token() {
    let at = used(0, 1000, 0, 0, 1);
    assert_eq!(STEPPED.rounded_cost(at), Money(1000 * 10 + 400));
    let above = used(1, 1000, 0, 0, 1);
    assert_eq!(STEPPED.rounded_cost(above), Money(200 + 1000 * 20 + 600));
    // Output does not count.
    let talkative = used(1, 0, 0, 0, 5000);
    assert_eq!(STEPPED.rounded_cost(talkative), Money(100 + 5000 * 400));
}

#[test]
fn the_highest_step_below_the_input_counts() {
    let third = rates([300, 300, 300, 300, 300]);
    let price = Price {
        steps: [
            STEPPED.steps[0],
            Some(PriceStep {
                above: 2000,
                rates: third,
            }),
        ],
        ..STEPPED
    };
    for (input, expected) in [
        (0, BASE),
        (1000, BASE),
        (1001, UPPER),
        (2000, UPPER),
        (2001, third),
    ] {
        assert_eq!(price.rates_for(input), expected, "{input}");
    }
}

#[test]
fn the_sum_is_rounded_once() {
    let tenth = Money(NANO / 10);
    let price = Price::flat(tenth, tenth);
    // Five buckets of a tenth of a nano-dollar each.
    assert_eq!(price.rounded_cost(used(1, 1, 1, 1, 1)), Money(1));
    assert_eq!(price.rounded_cost(used(1, 1, 1, 1, 0)), Money(0));
}

#[test]
fn writing_to_a_cache_is_bounded_only_if_the_request_asks_for_it() {
    let most = |writing| BUCKETS.max_cost(10, 1, writing);
    assert_eq!(most(CacheWriting::None), Money(10 * 100 + 400));
    assert_eq!(most(CacheWriting::Minutes), Money(10 * 125 + 400));
    assert_eq!(most(CacheWriting::Hour), Money(10 * 200 + 400));
    // A write that costs less than fresh input lowers nothing.
    let cheap = Price {
        base: rates([100, 10, 50, 60, 400]),
        ..BUCKETS
    };
    assert_eq!(
        cheap.max_cost(10, 1, CacheWriting::Hour),
        Money(10 * 100 + 400)
    );
}

#[test]
fn a_bound_beyond_a_step_takes_the_dearest_that_can_happen() {
    let most = |input| STEPPED.max_cost(input, 1, CacheWriting::None);
    assert_eq!(most(1000), Money(1000 * 100 + 400));
    assert_eq!(most(1001), Money(1001 * 200 + 600));
    // A step that costs less: a request that stays below it costs more.
    let discount = Price {
        base: UPPER,
        steps: [
            Some(PriceStep {
                above: 1000,
                rates: BASE,
            }),
            None,
        ],
    };
    let most = discount.max_cost(1001, 1, CacheWriting::None);
    assert_eq!(most, Money(1000 * 200 + 600));
}

#[test]
fn a_flat_price_is_recognised() {
    assert!(Price::flat(Money(1), Money(2)).is_flat());
    assert!(!BUCKETS.is_flat() && !STEPPED.is_flat());
    let only_a_step = Price {
        steps: STEPPED.steps,
        ..Price::flat(Money(1), Money(2))
    };
    assert!(!only_a_step.is_flat());
}

fn some_rates() -> impl Strategy<Value = Rates> {
    let rate = || 0..10_000_000_000_000_i64;
    (rate(), rate(), rate(), rate(), rate()).prop_map(|(a, b, c, d, e)| Rates {
        input: Money(a),
        cached_input: Money(b),
        cache_write: Money(c),
        cache_write_1h: Money(d),
        output: Money(e),
    })
}

fn some_price() -> impl Strategy<Value = Price> {
    let step = || proptest::option::of((1..5000_u64, some_rates()));
    (some_rates(), step(), step()).prop_map(|(base, first, second)| {
        let mut steps: Vec<PriceStep> = [first, second]
            .into_iter()
            .flatten()
            .map(|(above, rates)| PriceStep { above, rates })
            .collect();
        steps.sort_by_key(|step| step.above);
        let mut steps = steps.into_iter();
        Price {
            base,
            steps: [steps.next(), steps.next()],
        }
    })
}

proptest! {
    /// With two counts only, a flat price is a multiplication, as it was before there were buckets.
    #[test]
    fn a_flat_price_ignores_the_buckets(
        (input, output) in (0..10_000_000_000_000_i64, 0..10_000_000_000_000_i64),
        (fresh, cached, written, hour, said) in
            (0..10_000_u64, 0..10_000_u64, 0..10_000_u64, 0..10_000_u64, 0..10_000_u64),
    ) {
        let tokens = used(fresh, cached, written, hour, said);
        let price = Price::flat(Money(input), Money(output));
        let exact = i128::from(tokens.input_total()) * i128::from(input)
            + i128::from(said) * i128::from(output);
        let nanos = i64::try_from((exact + 500_000) / 1_000_000).unwrap();
        prop_assert_eq!(price.rounded_cost(tokens), Money(nanos));
        let plain = TokenBuckets::plain(TokenUsage {
            input_tokens: tokens.input_total(),
            output_tokens: said,
        });
        prop_assert_eq!(price.rounded_cost(plain), Money(nanos));
    }

    #[test]
    fn no_usage_within_a_bound_costs_more_than_the_bound(
        price in some_price(),
        (fresh, cached, written, hour, said) in
            (0..4000_u64, 0..4000_u64, 0..4000_u64, 0..4000_u64, 0..4000_u64),
        (more_input, more_output) in (0..4000_u64, 0..4000_u64),
        writing in prop_oneof![
            Just(CacheWriting::None), Just(CacheWriting::Minutes), Just(CacheWriting::Hour),
        ],
    ) {
        let tokens = TokenBuckets {
            cache_write: if writing == CacheWriting::None { 0 } else { written },
            cache_write_1h: if writing == CacheWriting::Hour { hour } else { 0 },
            ..used(fresh, cached, 0, 0, said)
        };
        let most = price.max_cost(
            tokens.input_total() + more_input,
            said + more_output,
            writing,
        );
        prop_assert!(price.rounded_cost(tokens) <= most);
    }
}
